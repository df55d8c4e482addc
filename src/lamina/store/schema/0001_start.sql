-- Moments are whole microseconds since 1970, UTC. Flags are 0 or 1. Texts that are JSON are canonical JSON, but for the
-- payload of a record: it keeps the order of its members, and its digest is of the canonical form.

-- One row a conversation: where its log ends, and which run has it. A suspended run keeps it (design §5); an active one
-- has it until `busy_until`. Each change of owner raises `busy_epoch`, which fences the owner before off.
CREATE TABLE conversation (
  id TEXT NOT NULL PRIMARY KEY,
  principal TEXT,
  created BIGINT NOT NULL,
  head_seq BIGINT NOT NULL,
  head_digest TEXT NOT NULL,
  busy_run TEXT,
  busy_state TEXT,
  busy_epoch BIGINT NOT NULL DEFAULT 0,
  busy_until BIGINT,
  forked_from TEXT,
  forked_seq BIGINT,
  CHECK ((busy_run IS NULL) = (busy_state IS NULL)),
  CHECK (busy_state IS NULL OR busy_state IN ('active', 'suspended')),
  CHECK ((forked_from IS NULL) = (forked_seq IS NULL))
);
CREATE INDEX conversation_principal ON conversation (principal, id);
CREATE INDEX conversation_suspended ON conversation (principal, id) WHERE busy_state = 'suspended';

-- The canonical log. `seq` has no gaps; `digest` chains each record to the one before it (STORE-001, STORE-004).
CREATE TABLE record (
  conversation TEXT NOT NULL,
  seq BIGINT NOT NULL,
  id TEXT NOT NULL,
  batch TEXT NOT NULL,
  kind TEXT NOT NULL,
  version BIGINT NOT NULL,
  created BIGINT NOT NULL,
  payload TEXT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (conversation, seq)
);
-- Within a log an id is there once. Three kinds are most of a log, and are no other's to write than the run's that has
-- the conversation: it sees to that itself, for in this index they would cost as much as all else of an append.
CREATE UNIQUE INDEX record_id ON record (conversation, id)
  WHERE kind <> 'ResultSettled' AND kind <> 'ResponseDeclared' AND kind <> 'TurnAdvanced';

-- A session points to conversations, and is never the history (seed 004 §3).
CREATE TABLE session (
  id TEXT NOT NULL PRIMARY KEY,
  principal TEXT,
  revision BIGINT NOT NULL,
  schema_version BIGINT NOT NULL,
  metadata TEXT NOT NULL,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  closed BIGINT NOT NULL CHECK (closed IN (0, 1))
);
CREATE INDEX session_principal ON session (principal, created);

CREATE TABLE session_conversation (
  session TEXT NOT NULL,
  position BIGINT NOT NULL,
  conversation TEXT NOT NULL,
  PRIMARY KEY (session, position)
);
CREATE UNIQUE INDEX session_conversation_once ON session_conversation (session, conversation);

-- One row a run that takes commands (seed 004 §4). Admission, delivery and the end all write it first, and so come one
-- after the other; `queued` is how many commands wait, `last` the position of the latest.
CREATE TABLE steering_queue (
  run TEXT NOT NULL PRIMARY KEY,
  conversation TEXT,
  principal TEXT,
  state TEXT NOT NULL CHECK (state IN ('open', 'paused', 'closed')),
  last BIGINT NOT NULL,
  queued BIGINT NOT NULL CHECK (queued >= 0)
);
CREATE INDEX steering_queue_conversation ON steering_queue (conversation, state);

-- Commands, in the order of their admission. Within `scope` an id is there once: the conversation, or `/` and the run.
CREATE TABLE steering (
  run TEXT NOT NULL,
  seq BIGINT NOT NULL,
  scope TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('steering', 'follow-up')),
  author TEXT,
  content TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'delivered', 'dropped')),
  created BIGINT NOT NULL,
  PRIMARY KEY (run, seq)
);
CREATE UNIQUE INDEX steering_id ON steering (scope, id);
CREATE INDEX steering_state ON steering (scope, state);

-- Shapes only: an entry holds no parameter, and a principal only as a projection gave it (design §7, §8).
CREATE TABLE audit (
  id TEXT NOT NULL PRIMARY KEY,
  created BIGINT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  outcome TEXT NOT NULL,
  entry TEXT NOT NULL
);
CREATE INDEX audit_created ON audit (created);
