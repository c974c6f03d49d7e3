/** How the client makes a call. The generator writes one `Operation` for each method. */
export interface Operation {
  method: string;
  /** The path, with parameters as `{name}`. */
  path: string;
  hasBody?: true;
  /** The media type of the body, if it is not application/json. */
  bodyType?: string;
  hasQuery?: true;
  /** Whether the call takes an Idempotency-Key. */
  takesKey?: true;
  /** Whether the call needs a token. */
  secured?: true;
  /**
   * What the method returns: `data` of the envelope, a page, all rows, the events or the pages of a feed, a body
   * without envelope, text, or a file.
   */
  answers: 'data' | 'page' | 'rows' | 'feed' | 'feedPages' | 'body' | 'text' | 'file';
}
