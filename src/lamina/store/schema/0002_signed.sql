-- Signed requests that have counted, for as long as their signature could count again.
CREATE TABLE signed_request (
  signer TEXT NOT NULL,
  nonce TEXT NOT NULL,
  until BIGINT NOT NULL,
  PRIMARY KEY (signer, nonce)
);
CREATE INDEX signed_request_until ON signed_request (until);
