/**
 * How long the service waits before it gives up, in milliseconds. TIME_LIMIT_FACTOR multiplies all of them. Code reads them from
 * the configuration, so that a test can set the one that it is about.
 */
export const TIME_LIMITS = {
  /** Opening a connection to PostgreSQL. */
  connectMs: 3_000,
  /** A statement of a request (`statement_timeout`). */
  statementMs: 5_000,
  /** Waiting for a lock (`lock_timeout`). */
  lockMs: 3_000,
  /** A pause between two statements of a transaction (`idle_in_transaction_session_timeout`). */
  idleInTransactionMs: 10_000,
  /** Looking up the id of a duplicate. Short, because the transaction may have used most of the request's time limit. */
  existingIdMs: 1_000,
  /** Waiting for a free slot of exports, uploads or long reads. */
  slotMs: 3_000,
  /** A summary of the portfolio. */
  summaryMs: 60_000,
  /** A proof that a request asks for. */
  proofMs: 120_000,
  /** An export. */
  exportMs: 10 * 60_000,

  /** Receiving the headers of a request. */
  headersMs: 5_000,
  /** Receiving the body of a request. */
  bodyMs: 10_000,
  /** Receiving the body of a bulk call, which can have many items. */
  bulkBodyMs: 60_000,
  /** Receiving an uploaded file: 64 MiB at 75 kB/s, a slow connection of a field office. */
  uploadMs: 15 * 60_000,
  /** A pause in an upload. */
  uploadStallMs: 20_000,
  /** From the request to the first byte of the answer. */
  answerMs: 5_500,
  /** The same for calls with many items, which may wait for locks of other transactions. */
  bulkAnswerMs: 30_000,
  /** Storing an uploaded file after its last byte. */
  uploadAnswerMs: 60_000,
  /** Requests in progress when the service stops. An SQL statement of a request can take as long. */
  drainMs: 5_000,
  /** The whole stop of the process. Longer than each of its parts. */
  closeMs: 10_000,
  /** Opening a connection to Redis. */
  redisConnectMs: 1_000,
  /** A command to Redis. */
  redisMs: 200,
  /** Waiting for a free slot of bulk calls. */
  bulkSlotMs: 10_000,

  /** Retrying a payment whose names or account are locked. Shorter than `answerMs`. */
  postingMs: 4_000,
  /** Searching for the names of payers in a list of suggestions. */
  namesMs: 1_500,
  /** The answer to a validation request. The provider waits only a few seconds. */
  validationMs: 1_500,
  /** Waiting for transactions that publish events, before the feed begins at the newest event. */
  horizonMs: 3_000,
  /** A stream of events, until it checks again whether its reader may still read. */
  streamCheckMs: 5_000,

  /** Waiting until the printer is free. */
  printSlotMs: 4_000,
  /** Printing a document. */
  printMs: 10_000,
  /** A request to an identity provider. */
  identityProviderMs: 5_000,
  /** Waiting for the metadata of an identity provider at a sign-out. Short, because the session cookie is deleted after it. */
  providerSignOutMs: 1_000,
  /** A delivery to a webhook endpoint. */
  deliveryMs: 10_000,
  /** If an instance dies, another instance takes over its webhook endpoints after this time. */
  leaseMs: 6_000,
  /** Requests to webhook endpoints that run when the service stops. */
  deliveryStopMs: 3_000,

  /** The check of PostgreSQL for /health. */
  probeMs: 2_000,
  /** A check of the replica: its progress, and the position of the primary. */
  replicaMs: 2_000,
  /** Reading a figure for /health or /metrics. */
  figureMs: 1_000,
  /** A step of the minute jobs. */
  jobStepMs: 60_000,
  /** A turn of the job that matches a provider statement. The rest of the statement follows in the next turn. */
  statementTurnMs: 60_000,
  /** A turn of a bulk deferral. Another bulk deferral has its turn before the rest follows. */
  bulkDeferralTurnMs: 10_000,
  /** After this time without a heartbeat, the jobs of an instance are given to another: it is frozen or has lost its network. */
  silenceMs: 15_000,
  /** Running jobs when the service stops. A job that has not ended by then runs again. */
  jobStopMs: 5_000,
} as const;

export type TimeLimits = Readonly<Record<keyof typeof TIME_LIMITS, number>>;

export function multiplyTimeLimits(factor: number): TimeLimits {
  return Object.fromEntries(
    Object.entries(TIME_LIMITS).map(([name, ms]) => [name, ms * factor]),
  ) as TimeLimits;
}
