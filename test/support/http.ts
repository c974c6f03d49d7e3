import { randomUUID } from 'node:crypto';
import { committedDescription } from './api-description.ts';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers whose shape they assert.
  body: any;
  text: string;
}

export interface CallOptions {
  token?: string | null;
  headers?: Record<string, string>;
}

export type Caller = (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>;

/** An HTTP client for one address. Every answer is checked against the API description. */
export function createCaller(base: string): Caller {
  return async (method, path, body, { token, headers } = {}) => {
    const response = await fetch(`${base}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = text !== '' && response.headers.get('content-type')?.includes('json');
    const answer: Answer = {
      status: response.status,
      headers: response.headers,
      text,
      body: isJson ? JSON.parse(text) : undefined,
    };
    expectDescribed(method, new URL(`${base}${path}`).pathname, answer);
    return answer;
  };
}

/** Expects that openapi.json allows the answer. */
function expectDescribed(method: string, path: string, { status, headers, body, text }: Answer): void {
  const contentType = headers.get('content-type');
  const problem = committedDescription().problemOfAnswer({ method, path, status, contentType, body });
  if (problem) throw new Error(`${problem}\n${method} ${path} answered ${status}: ${text.slice(0, 2_000)}`);
}

/** A notification as the provider posts it, with a new transaction id. */
export function notification(fields: Record<string, unknown> = {}) {
  return {
    TransactionType: 'Pay Bill',
    TransID: randomUUID().replaceAll('-', '').slice(0, 10).toUpperCase(),
    TransTime: '20261101101530',
    TransAmount: '400.00',
    BusinessShortCode: '600638',
    BillRefNumber: '',
    MSISDN: '254700000000',
    ...fields,
  };
}
