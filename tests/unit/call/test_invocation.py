"""Signals and invocations."""

import anyio

from lamina.call import Invocation, NoCaller, Signal
from lamina.testing import FixedIds


def test_a_signal_is_aborted_once_and_tells_its_listeners_in_order():
    signal, heard = Signal(), []
    signal.on_abort(lambda: heard.append(1))
    signal.on_abort(lambda: heard.append(2))
    signal.abort()
    signal.abort()
    assert (heard, signal.aborted, signal.listeners) == ([1, 2], True, 0)


def test_who_listens_to_an_aborted_signal_hears_at_once():
    signal, heard = Signal(), []
    signal.abort()
    stop = signal.on_abort(lambda: heard.append(1))
    stop()
    assert (heard, signal.listeners) == ([1], 0)


def test_who_stops_listening_hears_nothing_and_a_listener_that_raises_keeps_no_other_from_hearing():
    signal, heard = Signal(), []

    def broken() -> None:
        raise RuntimeError("s3cr3t")

    stop = signal.on_abort(lambda: heard.append("stopped"))
    signal.on_abort(broken)
    signal.on_abort(lambda: heard.append("heard"))
    stop()
    stop()
    signal.abort()
    assert heard == ["heard"]


async def test_a_waiter_is_woken_and_one_that_is_cancelled_listens_no_more():
    signal, woken = Signal(), []

    async def wait() -> None:
        await signal.wait()
        woken.append(True)

    async with anyio.create_task_group() as group:
        with anyio.move_on_after(0):
            await signal.wait()
        assert signal.listeners == 0
        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        assert signal.listeners == 1
        signal.abort()
    assert (woken, signal.listeners) == ([True], 0)


def test_an_invocation_has_an_id_of_its_own_and_keeps_how_it_came():
    ids = FixedIds()
    first, second = Invocation.new("mcp", request=7, ids=ids), Invocation.new(ids=ids)
    assert (first.transport, first.request, second.transport) == ("mcp", 7, "in-app")
    assert first.id != second.id


async def test_nobody_can_be_asked_where_nobody_is():
    caller = NoCaller()
    await caller.progress(1, 2)
    await caller.log("info", "nothing")
    asked = await caller.elicit("Sure?", {"type": "object"})
    assert asked.failure().feature == "elicit"
