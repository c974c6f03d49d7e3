import { type TObjectOptions, type TSchema, Type } from 'typebox';
import { codeOf } from '../../core/http/errors.ts';
import { AnswerTooLarge, type HttpAnswer, sendRequest } from '../../platform/outbound/http-client.ts';
import { ProviderApiError, type ProviderApiProblem } from './provider.ts';
import { parseJsonObject, textOf } from './rules.ts';

// The HTTP API of Safaricom's Daraja. https://developer.safaricom.co.ke/APIs/Authorization

interface MobilemoneyApiSettings {
  /** Has no slash at its end. */
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

export interface ApiCall {
  path: string;
  /** POST sends this as JSON, and GET as the query string. */
  body: Readonly<Record<string, string>>;
  method?: 'GET' | 'POST';
  timeoutMs?: number;
}

interface ApiAnswer {
  fields: Record<string, unknown>;
  text: string;
}

export interface MobilemoneyApi {
  /**
   * Calls an operation with an access token. If the token is refused, gets another token and repeats the call once.
   * @throws ProviderApiError if there is no answer with status 200 and a JSON object.
   */
  call(call: ApiCall, signal?: AbortSignal): Promise<ApiAnswer>;
}

const TIMEOUT_MS = 30_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
/** A token is replaced this long before it expires, because a call takes time. */
const RENEWED_BEFORE_MS = 60_000;
const TOKEN_PATH = '/oauth/v1/generate';
/** The codes with which the API refuses a token. Some answers with these codes have the status 400 or 404. */
const INVALID_TOKEN = /^(404\.001\.03|400\.003\.01|401\.00[23]\.01)$/;
/**
 * The refusals that the API sends as server errors. A call with any other server error may have been processed: the same code also
 * means that a transaction is being processed, so the text must be listed, too.
 */
const REFUSAL_CODE = '500.001.1001';
const REFUSAL_TEXT =
  /^(\[[^\]]*\][\s-]*)?(merchant does not exist|wrong credentials|unable to lock subscriber(, a transaction is already in process( for the current subscriber)?)?)[\s.]*$/i;
const MAX_MESSAGE_LENGTH = 200;

interface Token {
  text: string;
  /** A time of `nowMs`. */
  renewAtMs: number;
}

/**
 * Opens the API. All its calls share one access token.
 * @param nowMs - a clock that is never set back.
 */
export function createMobilemoneyApi(
  settings: MobilemoneyApiSettings,
  nowMs: () => number = () => performance.now(),
): MobilemoneyApi {
  let token: Promise<Token> | undefined;

  /** Callers that need a new token at the same time share one request for it. */
  async function getToken(): Promise<Token> {
    const current = token;
    if (current) {
      const known = await current;
      if (known.renewAtMs > nowMs()) return known;
      discard(current);
    }
    token ??= requestToken(settings, nowMs);
    const requested = token;
    requested.catch(() => discard(requested)); // The caller handles the error.
    return requested;
  }

  function discard(old: Promise<Token>): void {
    if (token === old) token = undefined;
  }

  async function call(given: ApiCall, signal?: AbortSignal): Promise<ApiAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const { text: bearer } = await getToken();
      const used = token;
      const answer = await send(settings, given, `Bearer ${bearer}`, signal);
      const fields = parseJsonObject(Buffer.from(answer.text));
      if (isTokenRefused(answer, fields)) {
        if (used) discard(used);
        if (attempt === 1) continue;
        throw new ProviderApiError('unauthorized', `${given.path}: the API rejected its new access token.`);
      }
      if (answer.status === 200 && fields && !isRefusal(fields)) return { fields, text: answer.text };
      throw errorOf(given.path, answer, fields);
    }
  }

  return { call };
}

async function requestToken(settings: MobilemoneyApiSettings, nowMs: () => number): Promise<Token> {
  const { consumerKey, consumerSecret } = settings;
  const credentials = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64');
  const body = { grant_type: 'client_credentials' };
  const call: ApiCall = { path: TOKEN_PATH, body, method: 'GET' };
  let answer: HttpAnswer;
  try {
    answer = await send(settings, call, `Basic ${credentials}`);
  } catch (error) {
    throw asNotSent(error);
  }
  const fields = parseJsonObject(Buffer.from(answer.text));
  const text = fields && textOf(fields, 'access_token');
  const lifetimeMs = Number(fields && textOf(fields, 'expires_in')) * 1_000;
  if (answer.status === 200 && text && lifetimeMs > 0) {
    const usableMs = Math.max(lifetimeMs - RENEWED_BEFORE_MS, lifetimeMs / 2);
    return { text, renewAtMs: nowMs() + usableMs };
  }
  if (answer.status === 400 || answer.status === 401) {
    const advice = 'Check MOBILEMONEY_CONSUMER_KEY and MOBILEMONEY_CONSUMER_SECRET.';
    throw new ProviderApiError('unauthorized', `The provider refused the consumer key and secret. ${advice}`);
  }
  throw asNotSent(errorOf(TOKEN_PATH, answer, fields));
}

/** The error of a failed token request. It becomes `not_sent`, because the operation was not called. `busy` stays `busy`. */
function asNotSent(error: unknown): unknown {
  if (!(error instanceof ProviderApiError) || error.problem === 'busy') return error;
  return new ProviderApiError('not_sent', error.message, error.retryAfterSeconds);
}

async function send(
  { url }: MobilemoneyApiSettings,
  { path, body, method = 'POST', timeoutMs = TIMEOUT_MS }: ApiCall,
  authorization: string,
  signal?: AbortSignal,
): Promise<HttpAnswer> {
  const query = method === 'GET' ? `?${new URLSearchParams(body)}` : '';
  try {
    return await sendRequest(
      {
        method,
        url: `${url}${path}${query}`,
        headers: { authorization, ...(method === 'POST' && { 'content-type': 'application/json' }) },
        ...(method === 'POST' && { body: JSON.stringify(body) }),
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
      },
      signal,
    );
  } catch (error) {
    throw new ProviderApiError(problemOf(error), `${path}: ${reasonOf(error)}`);
  }
}

function isTokenRefused({ status }: HttpAnswer, fields: Record<string, unknown> | undefined): boolean {
  const hasCode = fields !== undefined && INVALID_TOKEN.test(textOf(fields, 'errorCode') ?? '');
  return status === 401 || (hasCode && status < 500);
}

function isRefusal(fields: Record<string, unknown> | undefined): boolean {
  return (
    fields !== undefined &&
    textOf(fields, 'errorCode') === REFUSAL_CODE &&
    REFUSAL_TEXT.test(textOf(fields, 'errorMessage') ?? '')
  );
}

function errorOf(
  path: string,
  { status, retryAfterSeconds }: HttpAnswer,
  fields: Record<string, unknown> | undefined,
): ProviderApiError {
  const reported = fields && (textOf(fields, 'errorMessage') ?? textOf(fields, 'ResponseDescription'));
  const message = `${path}: status ${status}${reported ? `, ${reported.slice(0, MAX_MESSAGE_LENGTH)}` : ''}`;
  if (status === 429) return new ProviderApiError('busy', message, retryAfterSeconds);
  // An answer of status 200 that is not JSON comes from a proxy, or is incomplete. So it counts as `no_answer`.
  const isRefused = (status >= 400 && status < 500 && status !== 408) || isRefusal(fields);
  return new ProviderApiError(isRefused ? 'refused' : 'no_answer', message, retryAfterSeconds, status);
}

/** Whether a code means success. The API writes it with one zero or with several. */
export function isZero(code: string | null): boolean {
  return code !== null && /^0+$/.test(code);
}

/** The error for an answer of status 200 whose code refuses the call. */
export function refusalOf(path: string, code: string | null, fields: Record<string, unknown>) {
  const reported = textOf(fields, 'ResponseMessage') ?? textOf(fields, 'ResponseDescription') ?? '';
  const message = `${path}: ResponseCode ${code}, ${reported.slice(0, MAX_MESSAGE_LENGTH)}`;
  return new ProviderApiError('refused', message, null, 200);
}

/** The schema of an object that the provider sends. The object may have further fields. */
export function OpenObject<T extends Record<string, TSchema>>(properties: T, options: TObjectOptions = {}) {
  return Type.Object(properties, { additionalProperties: true, ...options });
}

/** What the service responds when the provider calls it with the result of a query or a request. */
export const ACKNOWLEDGEMENT = {
  contentType: 'application/json; charset=utf-8',
  body: { ResultCode: 0, ResultDesc: 'Accepted' },
} as const;

/** The schema of `ACKNOWLEDGEMENT`. */
export function Acknowledged(title: string) {
  return Type.Object(
    { ResultCode: Type.Literal(0), ResultDesc: Type.String() },
    { title, description: 'Answer stored.', examples: [ACKNOWLEDGEMENT.body] },
  );
}

/** The error codes of connections that were never made, or whose certificate was refused. */
const NEVER_CONNECTED =
  /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|CERT_\w+|SELF_SIGNED_CERT\w*|DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_(GET|VERIFY)\w+|ERR_TLS_CERT_ALTNAME_INVALID)$/;

function problemOf(error: unknown): ProviderApiProblem {
  if (error instanceof AnswerTooLarge) return 'too_large';
  const code = error instanceof Error ? codeOf(error.cause) : undefined;
  return code !== undefined && NEVER_CONNECTED.test(code) ? 'not_sent' : 'no_answer';
}

/** The error of `fetch` has the reason of a failed connection as its cause. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === 'TimeoutError') return 'no answer within the time limit';
  return error.cause instanceof Error ? error.cause.message || error.message : error.message;
}
