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
   * What the method returns. `data`: the field `data` of the answer. `body`: the whole answer. `rows`: an iterator over the rows
   * of a list. `feed` and `feedPages`: an iterator over the events, or over the pages of events.
   */
  answers: 'data' | 'page' | 'rows' | 'feed' | 'feedPages' | 'body' | 'text' | 'file';
}
