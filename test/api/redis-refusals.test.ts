import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openRedis } from '../../src/core/http/redis.ts';
import { createRedis, hasRedis } from '../faults/redis.ts';
import { startInstance, useService } from '../support/harness.ts';
import { createCaller } from '../support/http.ts';
import { eventually, PATIENT } from '../support/waiting.ts';

const token = 'a token of the monitoring';
const service = useService();
/** The rights that the documentation lists. */
const RIGHTS = /~ams:limit:\* (\+.*)$/m.exec(readFileSync('docs/operations.md', 'utf8'))?.[1] ?? '';

describe.skipIf(!hasRedis())('a Redis that refuses', () => {
  /** Starts a Redis, and an instance of the service that uses it. @returns what the instance says about Redis. */
  async function start(options: string[], login = '') {
    const server = await createRedis(options);
    await server.start();
    onTestFinished(() => server.kill());
    const warned = vi.spyOn(service.parts.log, 'warn');
    onTestFinished(() => warned.mockRestore());
    const url = server.url.replace('://', `://${login}`);
    const opened = openRedis(url, PATIENT, service.parts.log);
    onTestFinished(() => opened.close());
    const instance = await startInstance(service, { REDIS_URL: url, METRICS_TOKEN: token });
    onTestFinished(instance.close);
    const call = createCaller(instance.origin);
    return {
      opened,
      log: () => JSON.stringify(warned.mock.calls),
      health: async () => (await call('GET', '/health')).body,
      up: async () =>
        /^ams_redis_up (\d)$/m.exec((await call('GET', '/metrics', undefined, { token })).text)?.[1],
    };
  }
  const user = (rights: string) => ['--user', 'ams', 'on', '>pw', ...rights.split(' ')];

  it('nothing that docs/operations.md allows is up', async () => {
    const { health, up, log } = await start(user(`~ams:limit:* ${RIGHTS}`), 'ams:pw@');
    await eventually(health).toMatchObject({ status: 'ok', redis: 'up' });
    expect(await up()).toBe('1');
    expect(log()).toBe('[]');
  });

  it.each(['+evalsha', '+incrby', '+get', '+del'])(
    '%s is degraded, and its words are logged once',
    async (right) => {
      const rights = RIGHTS.split(' ').filter(
        (one) => one !== right && (right !== '+evalsha' || one !== '+eval'),
      );
      const { opened, health, up, log } = await start(user(`~ams:limit:* ${rights.join(' ')}`), 'ams:pw@');
      await eventually(() => opened.state()).toBe('refuses commands');
      await opened.state();
      // Redis words a refusal within a script, such as that of incrby, in another way.
      expect(log().match(/"reason":"(NOPERM|ERR The user executing the script)[^"]*"/g)).toHaveLength(1);
      await eventually(health).toMatchObject({ status: 'degraded', redis: 'refuses commands' });
      expect(await up()).toBe('0');
    },
  );

  it.each([
    ['writes, because it is a replica', ['--replicaof', '127.0.0.1 1'], 'READONLY'],
    ['keys, because it is a node of a cluster', ['--cluster-enabled', 'yes'], 'CLUSTERDOWN'],
  ])('%s is degraded', async (_what, options, words) => {
    const { opened, health, log } = await start(options);
    await eventually(() => opened.state()).toBe('refuses commands');
    expect(log()).toContain(words);
    await eventually(health).toMatchObject({ status: 'degraded', redis: 'refuses commands' });
  });

  it('one command stays degraded for a minute, although others succeed', async () => {
    const { opened } = await start([]);
    await eventually(() => opened.state()).toBe('up');
    const refusal = Object.assign(new Error('MOVED 1 10.0.0.5:6379'), { name: 'ReplyError' });
    opened.reportFailure(refusal);
    expect(await opened.state()).toBe('refuses commands');
  });

  it('the password is down, and its words are logged', async () => {
    const { health, log } = await start(user(`~ams:limit:* ${RIGHTS}`), 'ams:wrong@');
    await eventually(log).toContain('WRONGPASS');
    expect(await health()).toMatchObject({ status: 'degraded', redis: 'down' });
    expect(log()).not.toContain('wrong');
  });
});

it('a connection that fails is logged with its reason', async () => {
  const log = { info: vi.fn(), warn: vi.fn() };
  const redis = openRedis('redis://127.0.0.1:1', PATIENT, log);
  onTestFinished(() => redis.close());
  await eventually(() => JSON.stringify(log.warn.mock.calls)).toContain('ECONNREFUSED');
});
