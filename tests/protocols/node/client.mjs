// The TypeScript SDK's client against a server of ours: `node client.mjs ERA COMMAND...|URL`, ERA being a revision.
// It says on standard output, as JSON, what it saw; a step that fails is named in `problems`.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [era, ...target] = process.argv.slice(2);
const modern = era === "2026-07-28";
const seen = { checks: 0, problems: [] };

function check(name, holds, saw) {
  seen.checks += 1;
  if (!holds) seen.problems.push(`${name}: ${JSON.stringify(saw)}`);
}

async function step(name, body) {
  try {
    await body();
  } catch (error) {
    check(name, false, String(error));
  }
}

function transport() {
  const [first, ...rest] = target;
  return first.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(first))
    : new StdioClientTransport({ command: first, args: rest, env: { ...process.env }, stderr: "ignore" });
}

const client = new Client(
  { name: "lamina-peer", version: "0" },
  {
    capabilities: { elicitation: {}, sampling: {}, roots: {} },
    versionNegotiation: { mode: modern ? { pin: era } : "legacy" },
  },
);
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada", username: "ada", email: "a@b.c" } }));
client.setRequestHandler("sampling/createMessage", async () => ({ role: "assistant", model: "none", content: { type: "text", text: "Paris" } }));
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///here", name: "here" }] }));

const call = async (name, args = {}, options) => client.callTool({ name, arguments: args }, options);

await step("connect", () => client.connect(transport()));
await step("negotiated", async () => check("negotiated", client.getNegotiatedProtocolVersion?.() === era, client.getNegotiatedProtocolVersion?.()));
await step("tools", async () => {
  const { tools } = await client.listTools();
  check("tools", tools.length > 20 && tools.some((each) => each.name === "test_simple_text"), tools.length);
});
await step("text", async () => {
  const result = await call("test_simple_text");
  check("text", result.content[0].text === "This is a simple text response for testing.", result);
});
await step("structured", async () => {
  const result = await call("test_error_handling");
  check("a failure is a result", result.isError === true && result.content[0].text.startsWith("This tool"), result);
  const logged = await call("test_logging_tool");
  check("structured content fits its schema", logged.structuredContent?.result === "logged", logged);
});
await step("content", async () => {
  const kinds = (await call("test_multiple_content_types")).content.map((each) => each.type);
  check("content", kinds.join() === "text,image,resource", kinds);
});
await step("progress", async () => {
  const told = [];
  await call("test_tool_with_progress", {}, { onprogress: (each) => told.push(each.progress) });
  check("progress", told.join() === "0,50,100", told);
});
await step("elicitation", async () => {
  const result = await call("test_elicitation", { message: "Who?" });
  check("elicitation", result.content[0].text.includes('"username": "ada"'), result);
});
await step("sampling", async () => {
  const result = await call("test_sampling", { prompt: "The capital?" });
  check("sampling", result.content[0].text === "LLM response: Paris", result);
});
await step("everything at once", async () => {
  const result = await call("test_input_required_result_multiple_inputs");
  check("everything at once", ["Ada", "Paris", "file:///here"].every((each) => result.content[0].text.includes(each)), result);
});
await step("two rounds", async () => {
  const result = await call("test_input_required_result_multi_round");
  check("two rounds", result.content[0].text.startsWith("Ada likes"), result);
});
await step("a prompt that asks", async () => {
  const result = await client.getPrompt({ name: "test_input_required_result_prompt" });
  check("a prompt that asks", result.messages[0].content.text.startsWith("Use this context"), result);
});
await step("an unknown tool", async () => {
  const refused = await call("no_such_tool").then(() => null, (error) => error);
  check("an unknown tool", refused?.code === -32602, String(refused));
});
await step("an argument that does not fit", async () => {
  const refused = await call("test_sampling", { prompt: 7 }).then(() => null, (error) => error);
  check("an argument that does not fit", refused?.code === -32602, String(refused));
});
await step("resources", async () => {
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: "test://template/7/data" });
  check("resources", resources.length === 3 && JSON.parse(contents[0].text).id === "7", [resources, contents]);
});
await step("prompts", async () => {
  const { prompts } = await client.listPrompts();
  const { messages } = await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } });
  check("prompts", prompts.length === 5 && messages[0].content.text.includes("arg1='a'"), [prompts, messages]);
});
await step("completion", async () => {
  const ref = { type: "ref/prompt", name: "test_prompt_with_arguments" };
  const { completion } = await client.complete({ ref, argument: { name: "arg1", value: "par" } });
  check("completion", completion.values.join() === "paris,park,party", completion);
});
await step("changes", async () => {
  const changed = new Promise((resolve) => client.setNotificationHandler("notifications/tools/list_changed", resolve));
  const listening = modern ? await client.listen({ toolsListChanged: true }) : null;
  const before = (await client.listTools(undefined, { cacheMode: "refresh" })).tools.length;
  await call("test_trigger_tool_change");
  const late = new Promise((resolve) => setTimeout(resolve, 5_000, "late"));
  check("told of a change", (await Promise.race([changed, late])) !== "late", "nothing");
  const after = (await client.listTools(undefined, { cacheMode: "refresh" })).tools.length;
  check("the list has changed", Math.abs(after - before) === 1, [before, after]);
  await call("test_trigger_tool_change");
  await listening?.close();
});
await step("close", () => client.close());

console.log(JSON.stringify(seen));
process.exit(0);
