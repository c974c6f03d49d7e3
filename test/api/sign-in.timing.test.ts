import { expect, it } from 'vitest';
import { PASSWORD, useService } from '../support/harness.ts';

const service = useService();

it('a sign-in takes as long for an unknown e-mail as for a wrong password', async () => {
  const names = { firstName: 'New', lastName: 'Comer' };
  const registration = { email: 'known@example.com', password: PASSWORD, ...names };
  expect((await service.call('POST', '/auth/register', registration)).status).toBe(201);
  const median = async (emailOf: (n: number) => string) => {
    const times: number[] = [];
    for (let n = 0; n < 7; n++) {
      const start = performance.now();
      const body = { email: emailOf(n), password: 'a wrong password' };
      expect((await service.call('POST', '/auth/login', body)).status).toBe(401);
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[3] ?? 0;
  };
  const wrong = await median(() => 'known@example.com');
  const unknown = await median((n) => `unknown${n}@example.com`);
  expect(unknown).toBeGreaterThan(wrong / 3); // Without a hash it would take a tenth.
});
