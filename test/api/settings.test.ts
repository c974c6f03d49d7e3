import { describe, expect, it } from 'vitest';
import { setToday, startInstanceForTest, useService } from '../support/harness.ts';
import { providerSettings } from '../support/identity-providers.ts';

const service = useService();
const settingsOf = (call: typeof service.call) => call('GET', '/settings', undefined, { token: null });

describe('GET /settings', () => {
  it('answers what a page needs before sign-in, without a token, and can be cached for a minute', async () => {
    setToday(service, '2026-11-02');
    const answer = await settingsOf(service.call);
    expect(answer.status).toBe(200);
    expect(answer.body.data).toEqual({
      companyName: 'Your company',
      currency: 'KES',
      currencyDecimals: 2,
      timeZone: 'Africa/Nairobi',
      today: '2026-11-02',
      phoneCountryCode: '+254',
      identityProviders: [],
      approvalLimit: null,
      planChangeReasons: [],
      cashCounts: false,
      paymentRequests: false,
      registrationOpen: true,
      statusQueries: false,
      version: 'test',
    });
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60');
  });

  it('follows the settings of the service, and shows no secret of a provider', async () => {
    const other = await startInstanceForTest(service, {
      COMPANY_NAME: 'Sunrise Pumps Ltd',
      BUSINESS_TIMEZONE: 'Pacific/Kiritimati',
      PHONE_REGION: 'TZ',
      APPROVAL_LIMIT: '10000.50',
      REGISTRATION: 'closed',
      ...providerSettings('GOOGLE', 'https://accounts.example'),
    });
    service.clock.set(new Date('2026-11-02T11:00:00Z'));
    const { body, text } = await settingsOf(other.call);
    expect(body.data).toMatchObject({
      companyName: 'Sunrise Pumps Ltd',
      timeZone: 'Pacific/Kiritimati',
      today: '2026-11-03',
      phoneCountryCode: '+255',
      identityProviders: [{ name: 'google' }],
      registrationOpen: false,
      approvalLimit: 10_000.5,
    });
    expect(text).not.toMatch(/accounts\.example|secret|ams"/);
  });
});
