export { type Client, type ClientOptions, createClient } from './client.ts';
export type { Authentication, Tokens } from './credentials.ts';
export {
  AnswerError,
  ApiError,
  ClientError,
  ConnectionError,
  type ErrorCode,
  type ErrorDetails,
  UnexpectedAnswerError,
  WebhookVerificationError,
} from './errors.ts';
export type { components, operations, paths } from './generated/api.ts';
export type { AnswerHead, Retry } from './requests.ts';
export type {
  BodyOf,
  CallOptions,
  DataOf,
  EventOf,
  EventType,
  OperationId,
  PageOf,
  QueryOf,
  RepeatableCallOptions,
  RowOf,
  Schemas,
  ServiceFile,
} from './types.ts';
export { type VerifyOptions, verifyWebhook, type WebhookHeaders } from './webhooks.ts';
