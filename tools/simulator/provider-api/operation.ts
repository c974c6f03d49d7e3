/** What the operations of the simulated API have in common. */

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  /** The fields of the body, or of the query of a GET. */
  fields: Record<string, unknown>;
}

export interface Answer {
  /** Default: 200. */
  status?: number;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body: object | string;
  /** Sends only the beginning of the body, and closes the connection. */
  isCutOff?: boolean;
}

export type Operation = (call: Call) => Answer | Promise<Answer>;

export interface Credentials {
  consumerKey: string;
  consumerSecret: string;
}

/** An error in the form of the provider. */
export function errorAnswer(status: number, message: string, code = `${status}.001.01`): Answer {
  return { status, body: { requestId: '1-2-3', errorCode: code, errorMessage: message } };
}
