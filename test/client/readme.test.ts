import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../acceptance/process.ts';
import { dataOf, newAccount, newApiKey, useService } from '../support/harness.ts';
import { run as runProgram, spawn } from '../support/processes.ts';
import { eventually } from '../support/waiting.ts';
import { compileStrictly, installClient, ROOT } from './package.ts';

const service = useService();
const text = readFileSync(join(ROOT, 'packages/client/README.md'), 'utf8');
const examples = text.split(/^## /m).flatMap((section) => {
  const code = /^```ts$\n([\s\S]*?)^```$/m.exec(section)?.[1];
  return code === undefined ? [] : [{ title: section.split('\n', 1)[0] ?? '', code }];
});
/** The values that the examples take as given. */
const GIVEN = [
  'const { BASE_URL: baseUrl = "", API_KEY: apiKey = "", SECRET: webhookSecret = "" } = process.env;',
  'const port = Number(process.env.PORT);',
];
const SECRET = `whsec_${Buffer.from('a secret of some 24 bytes').toString('base64')}`;
const TSX = join(ROOT, 'node_modules', '.bin', 'tsx');

let folder: string;
let environment: Record<string, string | undefined>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'client-'));
  installClient(folder);
  for (const { title, code } of examples) writeFileSync(fileOf(title), [...GIVEN, code].join('\n'));
  const { key } = await newApiKey(service, 'admin');
  environment = { ...process.env, BASE_URL: service.origin, API_KEY: key, SECRET };
  expect((await newAccount(service)).id).toBe(1);
});

function fileOf(title: string): string {
  return join(folder, `${title.toLowerCase().replaceAll(' ', '-')}.ts`);
}

async function run(title: string): Promise<string> {
  const { stdout } = await runProgram(TSX, [fileOf(title)], { cwd: folder, env: environment });
  return stdout.trim();
}

describe('the examples of the README of the client', () => {
  it('compile as they are printed, with the installed package', () => {
    expect(examples.length).toBeGreaterThanOrEqual(5);
    const files = examples.map(({ title }) => fileOf(title));
    expect(compileStrictly(folder, files)).toBe('');
  });

  it('make calls', async () => {
    expect(await run('Make a call')).toBe('matched');
  });

  it('read lists', async () => {
    const [listed, balance] = (await run('Read lists')).split('\n');
    const accounts: { balance: number }[] = await dataOf(service.call('GET', '/accounts'));
    expect(listed).toBe(`${accounts.length} of ${accounts.length}`);
    expect(Number(balance)).toBe(accounts.reduce((sum, account) => sum + account.balance, 0));
  });

  it('handle errors', async () => {
    expect(await run('Handle errors')).toBe('account 4711 does not exist');
  });

  it('repeat safely', async () => {
    expect(await run('Repeat safely')).toBe('true');
  });

  it('receive webhooks', async () => {
    const port = await freePort();
    const receiver = spawn(TSX, [fileOf('Receive webhooks')], {
      env: { ...environment, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const printed = once(receiver.stdout, 'data');
    try {
      const body = JSON.stringify({ id: 1, type: 'payment.received' });
      await eventually(() => deliver(port, body, SECRET)).toBe(204);
      expect(String(await printed)).toBe('payment.received\n');
      expect(await deliver(port, body, `${SECRET.slice(0, -4)}AAA=`)).toBe(400);
    } finally {
      receiver.kill();
    }
  });
});

/** @returns the status; undefined while nothing listens. */
async function deliver(port: number, body: string, secret: string): Promise<number | undefined> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64');
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  const request = { method: 'POST', headers, body };
  const answer = await fetch(`http://127.0.0.1:${port}`, request).catch(() => undefined);
  return answer?.status;
}
