import { keepPreviousData } from '@tanstack/react-query';
import createFetchClient from 'openapi-fetch';
import createQueryClient from 'openapi-react-query';
import type { Paths } from './paths.ts';
import { isErrorBody } from './problem.ts';
import { send, type Transport } from './send.ts';
import { accessToken, currentSession, isSessionLocked, replaceToken } from './session.ts';

/** For a single call: `await client.GET('/api/accounts/{id}', …)`. Queries use the hooks of `api`. */
export const client = createFetchClient<Paths>({
  baseUrl: location.origin,
  fetch: (request) => sendSignedIn(request),
  querySerializer: writeQuery,
});

/** The hooks: `api.useQuery('get', '/api/accounts/{id}', { params: { path: { id } } })`. */
export const api = createQueryClient(client);

/**
 * For a query whose parameters, such as a filter, change while the user works on the page. The last answer stays on the page
 * until the next answer arrives, so that nothing moves and the button that the user pressed keeps the focus.
 */
export const KEEPS_LAST = { placeholderData: keepPreviousData } as const;

/**
 * Sends a request with the access token. If the service refuses the token, renews it and sends the request once more, unless
 * another user has signed in meanwhile.
 */
export async function sendSignedIn(
  request: Request,
  isRepeatable?: boolean,
  transport?: Transport,
): Promise<Response> {
  const userId = currentSession()?.user.id;
  const token = await accessToken();
  if (currentSession()?.user.id !== userId || isSessionLocked()) return sessionIsOver();
  const response = await send(withToken(request, token), isRepeatable, transport);
  if (token === undefined || response.status !== 401) return response;
  const answer: unknown = await response.clone().json();
  // The answer to a wrong password is also 401.
  if (!isErrorBody(answer) || answer.error.code !== 'UNAUTHORIZED') return response;
  const renewed = await replaceToken(token);
  return renewed === undefined || currentSession()?.user.id !== userId
    ? response
    : send(withToken(request, renewed), isRepeatable, transport);
}

function sessionIsOver(): Response {
  const error = { code: 'UNAUTHORIZED', message: 'The session has ended. Sign in again.', details: {} };
  return Response.json({ success: false, error }, { status: 401 });
}

function withToken(request: Request, token: string | undefined): Request {
  const signed = request.clone();
  if (token !== undefined) signed.headers.set('authorization', `Bearer ${token}`);
  return signed;
}

/** `{ 'filter[id]': { in: [1, 2] }, expand: ['customer'] }` becomes `filter[id][in]=1,2&expand=customer`, percent-encoded. */
export function writeQuery(query: Readonly<Record<string, unknown>>): string {
  const parameters = new URLSearchParams();
  const add = (name: string, value: unknown) => {
    if (value !== undefined && value !== null) parameters.append(name, String(value));
  };
  for (const [name, value] of Object.entries(query)) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) add(name, value);
    // A filter with an empty value is not sent. An empty `after` is sent: it asks for the first page of a list with cursors.
    else
      for (const [operator, operand] of Object.entries(value))
        add(`${name}[${operator}]`, operand === '' ? undefined : operand);
  }
  return parameters.toString();
}
