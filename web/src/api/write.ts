import { type QueryClient, useMutation, useQueryClient } from '@tanstack/react-query';
import type { MaybeOptionalInit } from 'openapi-fetch';
import type { PathsWithMethod } from 'openapi-typescript-helpers';
import { useEffect, useRef } from 'react';
import { client } from './client.ts';
import { collectMs, isOfPage, kindOf } from './live-queries.ts';
import type { Paths } from './paths.ts';
import { isErrorBody, type Problem, problemOf } from './problem.ts';
import {
  addUnconfirmed,
  findUnconfirmed,
  leaveUnconfirmed,
  removeUnconfirmed,
  reportLeftFailure,
  setRunning,
  type Unconfirmed,
} from './unconfirmed.ts';

type WriteMethod = 'post' | 'put' | 'delete';

export interface Write<Init, Data> {
  /** Resolves to undefined if the change failed; `problem` says why. */
  send(init: Init): Promise<Data | undefined>;
  isSending: boolean;
  problem: Problem | undefined;
  /** Aborts the request and its retries. The service may already have done the work. */
  stop(): void;
  /** Names the change, for the case that its answer is lost. */
  describe(title: string): void;
}

/**
 * Sends a change. A second click while the request runs sends nothing. If a request gets no answer, the next request with the
 * same content has the same Idempotency-Key, also after a reload, so that the service does not do the work twice. After the change,
 * all queries on the page are read again, and soon afterwards the counts of the navigation.
 * @param options.isRepeatable - must be false for a POST that refuses an Idempotency-Key, such as one that returns a secret. Its
 *   request is sent only once.
 * @param options.onAnswer - gets the whole answer, for what is beside its data.
 * @param options.waitsForQueries - if false, `send` resolves when the answer arrives, before the queries are read again.
 */
export function useWrite<Method extends WriteMethod, Path extends PathsWithMethod<Paths, Method>>(
  method: Method,
  path: Path,
  ...[options]: OptionsOf<Paths[Path], Method>
): Write<InitOf<Paths[Path], Method>, DataOf<Paths[Path], Method>> {
  const { isRepeatable = true, waitsForQueries = true, onAnswer } = options ?? {};
  const queries = useQueryClient();
  const running = useRef<Promise<unknown>>(undefined);
  const controller = useRef<AbortController>(undefined);
  const lastKey = useRef({ content: '', key: '' });
  const title = useRef('');
  const isKept = isRepeatable && method === 'post';
  const isLeft = useRef(false);
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
      leaveUnconfirmed(lastKey.current.key);
    };
  }, []);
  const { mutateAsync, error, isPending } = useMutation({
    mutationFn: async (init: object) => {
      const content = JSON.stringify(init);
      if (lastKey.current.content !== content) {
        leaveUnconfirmed(lastKey.current.key);
        const key = (isKept && findUnconfirmed(path, init)?.key) || randomKey();
        lastKey.current = { content, key };
      }
      const { key } = lastKey.current;
      const page = location.pathname;
      if (isKept) addUnconfirmed({ key, path, init, title: title.current, page, sentAtMs: Date.now() });
      controller.current = new AbortController();
      if (isKept) setRunning(key, controller.current);
      const { data, error } = await request(method, path, {
        ...init,
        headers: isRepeatable ? { 'idempotency-key': key } : {},
        signal: controller.current.signal,
      });
      if (!leavesDoubt(error)) {
        lastKey.current = { content: '', key: '' };
        removeUnconfirmed(key);
      }
      if (error && isLeft.current && !leavesDoubt(error)) reportLeftFailure(error);
      if (error) throw error;
      if (data) onAnswer?.(data as never);
      return data?.data;
    },
    onSuccess: () => {
      const isRead = ({ queryKey }: { queryKey: readonly unknown[] }) =>
        isOfPage(queryKey, location.pathname);
      void queries.invalidateQueries({ predicate: (query) => !isRead(query), refetchType: 'none' });
      readCountsSoon(queries);
      const read = queries.invalidateQueries({ predicate: isRead });
      return waitsForQueries ? read : undefined;
    },
  });
  return {
    send: (init) => {
      running.current ??= mutateAsync(init as object)
        .catch(() => undefined)
        .finally(() => {
          running.current = undefined;
        });
      return running.current as Promise<DataOf<Paths[Path], Method> | undefined>;
    },
    isSending: isPending,
    problem: problemOf(error),
    stop: () => controller.current?.abort(),
    describe: (text) => {
      title.current = text;
    },
  };
}

let readsCountsSoon = false;

/** Reads the counts of the navigation, once for several changes. Users do not see the events of all their own changes. */
function readCountsSoon(queries: QueryClient): void {
  if (readsCountsSoon) return;
  readsCountsSoon = true;
  setTimeout(
    () => {
      readsCountsSoon = false;
      void queries.invalidateQueries({
        predicate: ({ queryKey }) => kindOf(String(queryKey[1])) === 'today',
      });
    },
    collectMs('today', '/today'),
  );
}

/**
 * Sends an unconfirmed change again, with its key. If the service had not made the change, it makes it now.
 * @returns the data of the answer.
 * @throws the error body if the service refuses, or the abort reason of the signal.
 */
export async function sendAgain({ key, path, init }: Unconfirmed, signal: AbortSignal): Promise<unknown> {
  const { data, error } = await request('post', path, {
    ...init,
    headers: { 'idempotency-key': key },
    signal,
  });
  if (!leavesDoubt(error)) removeUnconfirmed(key);
  if (error) throw error;
  return data?.data;
}

/** After these errors, the service may have made the change: an earlier request with the same key may have had a lost answer. */
function leavesDoubt(error: unknown): boolean {
  return isErrorBody(error) && ['INTERNAL_ERROR', 'UNAUTHORIZED'].includes(error.error.code);
}

interface AnswerOptions<Item, Method extends WriteMethod> {
  waitsForQueries?: boolean;
  onAnswer?(answer: BodyOf<Item, Method>): void;
}

type OptionsOf<Item, Method extends WriteMethod> =
  AcceptsKey<Item, Method> extends true
    ? [options?: AnswerOptions<Item, Method> & { isRepeatable?: true }]
    : [options: AnswerOptions<Item, Method> & { isRepeatable: false }];

/** PUT and DELETE are repeatable without a key. */
type AcceptsKey<Item, Method extends WriteMethod> = Method extends 'post'
  ? Item extends { post: { parameters: { header?: infer Header } } }
    ? 'Idempotency-Key' extends keyof NonNullable<Header>
      ? true
      : false
    : false
  : true;

type InitOf<Item, Method extends WriteMethod> = Method extends keyof Item
  ? MaybeOptionalInit<Item, Method>
  : never;

type AnswerOf<Operation> = Operation extends { responses: infer Responses }
  ? Responses[keyof Responses & (200 | 201 | 202)]
  : never;

type BodyOf<Item, Method extends WriteMethod> = Method extends keyof Item
  ? AnswerOf<Item[Method]> extends { content: { 'application/json': infer Body } }
    ? Body
    : never
  : never;

type DataOf<Item, Method extends WriteMethod> =
  BodyOf<Item, Method> extends { data: infer Data } ? Data : undefined;

/** `client.request` without the types of its paths, because TypeScript cannot apply them to a type parameter. */
const request = client.request as unknown as (
  method: string,
  path: string,
  init: object,
) => Promise<{ data?: { data: unknown }; error?: unknown }>;

/** An Idempotency-Key. Does not use randomUUID, which browsers have only in secure contexts. */
export function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
