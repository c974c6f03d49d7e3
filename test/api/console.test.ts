import { mkdtempSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApp } from '../../src/app.ts';
import { readConfig } from '../../src/config/config.ts';
import type { HttpServer } from '../../src/core/http/server.ts';
import { createLog } from '../../src/core/log.ts';
import { useService } from '../support/harness.ts';

const service = useService();
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const PAGE = `<!doctype html><title>Console</title>${'<p>A line of the page.</p>'.repeat(60)}`;
const SCRIPT = 'console.log("a line");\n'.repeat(100);
const folder = mkdtempSync(join(tmpdir(), 'console-'));
let app: HttpServer;

async function writeBuilt(name: string, text: string): Promise<void> {
  await writeFile(join(folder, name), text);
  await writeFile(join(folder, `${name}.br`), brotliCompressSync(text));
  await writeFile(join(folder, `${name}.gz`), gzipSync(text));
}

beforeAll(async () => {
  await mkdir(join(folder, 'assets'));
  await writeBuilt('index.html', PAGE);
  await writeBuilt('assets/main-Ab_1-x.js', SCRIPT);
  await writeBuilt('assets/small.css', 'p{}');
  await writeFile(join(folder, '.built'), 'secret');
  app = buildApp({ ...service.parts, consoleFolder: folder });
  await app.ready();
});
afterAll(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

const get = (url: string, headers: Record<string, string> = { accept: BROWSER }) =>
  app.inject({ url, headers });

describe('GET / of the console', () => {
  it('sends the page with a policy that allows no inline code and no other host', async () => {
    const { statusCode, headers, body } = await get('/');
    expect(statusCode).toBe(200);
    expect(body).toBe(PAGE);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('no-cache');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|http|\*/);
  });

  it('sends the compressed copies of the build, and 304 to a browser that has the page', async () => {
    const br = await get('/', { accept: BROWSER, 'accept-encoding': 'gzip, deflate, br' });
    expect(br.headers['content-encoding']).toBe('br');
    expect(br.rawPayload).toEqual(brotliCompressSync(PAGE));
    const gz = await get('/', { accept: BROWSER, 'accept-encoding': 'gzip' });
    expect(gz.rawPayload).toEqual(gzipSync(PAGE));
    expect(gz.headers.vary).toBe('accept-encoding');
    const known = await get('/', { accept: BROWSER, 'if-none-match': String(br.headers.etag) });
    expect(known.statusCode).toBe(304);
  });

  it.each(['/accounts/1', '/unmatched?page=2&sort=amount:asc', '/sign-in', '/a/b/c'])(
    'is also sent at %s, which only the console knows',
    async (path) => {
      const { statusCode, headers, body } = await get(path);
      expect(statusCode).toBe(200);
      expect(body).toBe(PAGE);
      expect(headers['content-security-policy']).toContain("script-src 'self'");
    },
  );

  it.each([
    ['GET', '/api/nothing', BROWSER],
    ['GET', '/api-docs/nothing', BROWSER],
    ['GET', '/assets/nothing.js', BROWSER],
    ['GET', '/health/nothing', BROWSER],
    ['GET', '/metrics', BROWSER],
    ['GET', '/accounts/1', 'application/json'],
    ['GET', '/accounts/1', '*/*'],
    ['POST', '/accounts/1', BROWSER],
  ] as const)('is not sent to %s %s with Accept: %s', async (method, url, accept) => {
    const answer = await app.inject({ method, url, headers: { accept } });
    expect(answer.statusCode).toBe(404);
    expect(answer.json().error.code).toBe('NOT_FOUND');
  });
});

describe('GET /assets/:file of the console', () => {
  it('sends a file that browsers cache permanently, compressed if that saves a packet', async () => {
    const script = await get('/assets/main-Ab_1-x.js', { 'accept-encoding': 'br' });
    expect(script.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'br',
    });
    expect(script.rawPayload).toEqual(brotliCompressSync(SCRIPT));
    const plain = await get('/assets/main-Ab_1-x.js', {});
    expect(plain.body).toBe(SCRIPT);
    const style = await get('/assets/small.css', { 'accept-encoding': 'br' });
    expect(style.headers['content-encoding']).toBeUndefined();
    expect(style.body).toBe('p{}');
  });

  it.each(['../.built', '..%2f.built', '%2e%2e/.built', '.built', 'main-Ab_1-x.js.br', '%00', ''])(
    'sends nothing else: %s',
    async (file) => {
      const answer = await get(`/assets/${file}`, {});
      expect(answer.statusCode, answer.body).toBe(404);
      expect(answer.headers['content-type']).toContain('application/json');
    },
  );

  it('refuses to start with a file of an unknown type', async () => {
    await writeFile(join(folder, 'assets', 'font.xyz'), '');
    expect(() => buildApp({ ...service.parts, consoleFolder: folder })).toThrow(
      /font\.xyz has an unknown type\. Add it to CONTENT_TYPES/,
    );
    await rm(join(folder, 'assets', 'font.xyz'));
  });
});

describe('the rate limit of the console', () => {
  it('counts a page at any of its addresses as a page, and an unknown address as another call', async () => {
    const config = readConfig({ NODE_ENV: 'test', RATE_LIMIT_GENERAL: '2', RATE_LIMIT_PAGES: '3' });
    const limited = buildApp({
      ...service.parts,
      context: { ...service.context, config },
      log: createLog({ LOG_LEVEL: 'silent', production: false }),
      consoleFolder: folder,
    });
    const statusOf = async (url: string, accept: string) =>
      (await limited.inject({ url, headers: { accept } })).statusCode;
    expect(await statusOf('/', BROWSER)).toBe(200);
    expect(await statusOf('/accounts/1', BROWSER)).toBe(200);
    expect(await statusOf('/customers', BROWSER)).toBe(200);
    expect(await statusOf('/customers', BROWSER)).toBe(429);
    expect(await statusOf('/customers', 'application/json')).toBe(404);
    expect(await statusOf('/api/unknown', BROWSER)).toBe(404);
    expect(await statusOf('/api/unknown', BROWSER)).toBe(429);
    await limited.close();
  });
});
