import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import type { Settings } from './settings.ts';
import { checkRequired, checkUnused, type Reading, readSettingFile, withoutSlash } from './values.ts';

/** The access to the API of the mobile-money provider, and the features that use it. */
export interface MobilemoneyConfig {
  /** Undefined: the service never calls the mobile-money provider. */
  readonly mobilemoneyApi: ApiConfig | undefined;
  /** Undefined: the service does not ask the mobile-money provider for payments. */
  readonly mobilemoneyPull: PullConfig | undefined;
  /** Undefined: payment requests are off. */
  readonly mobilemoneyRequests: RequestConfig | undefined;
  /** Undefined: the service does not ask the mobile-money provider for the status of transactions. */
  readonly mobilemoneyStatus: StatusConfig | undefined;
}

interface ApiConfig {
  /** Has no slash at its end. */
  readonly url: string;
  readonly consumerKey: string;
  readonly consumerSecret: string;
}

interface PullConfig {
  readonly shortCodes: readonly string[];
  /** The phone number that is registered with the short codes. */
  readonly number: string;
  /** The address that this service registers at the provider for notifications of payments. */
  readonly callbackUrl: string;
}

interface RequestConfig {
  readonly shortCode: string;
  readonly passkey: string;
  /** The address for the provider's answers. Has no slash at its end. */
  readonly callbackUrl: string;
}

interface StatusConfig {
  readonly shortCode: string;
  readonly initiator: string;
  readonly password: string;
  /** The public key of the provider. The service encrypts the password with it. */
  readonly publicKey: KeyObject;
  /** The address for the provider's answers. Has no slash at its end. */
  readonly callbackUrl: string;
}

export function readMobilemoney(reading: Reading, paybillNumbers: readonly string[]): MobilemoneyConfig {
  return {
    mobilemoneyApi: readApi(reading),
    mobilemoneyPull: readPull(reading, paybillNumbers),
    mobilemoneyRequests: readRequests(reading, paybillNumbers),
    mobilemoneyStatus: readStatus(reading, paybillNumbers),
  };
}

const CONSUMER = ['MOBILEMONEY_CONSUMER_KEY', 'MOBILEMONEY_CONSUMER_SECRET'] as const;

function readApi(reading: Reading): ApiConfig | undefined {
  const {
    MOBILEMONEY_API_URL: url,
    MOBILEMONEY_CONSUMER_KEY: consumerKey,
    MOBILEMONEY_CONSUMER_SECRET: consumerSecret,
  } = reading.settings;
  if (url === '') {
    checkUnused('MOBILEMONEY_API_URL', CONSUMER, reading);
    return undefined;
  }
  checkRequired('MOBILEMONEY_API_URL', CONSUMER, reading);
  return Object.freeze({ url: withoutSlash(url), consumerKey, consumerSecret });
}

function readPull(reading: Reading, shortCodes: readonly string[]): PullConfig | undefined {
  const { MOBILEMONEY_PULL_NUMBER: number, PUBLIC_URL: publicUrl } = reading.settings;
  if (number === '') return undefined;
  const required = ['MOBILEMONEY_API_URL', 'PAYBILL_NUMBERS', 'PUBLIC_URL'] as const;
  checkRequired('MOBILEMONEY_PULL_NUMBER', required, reading);
  const callbackUrl = `${withoutSlash(publicUrl)}/api/webhooks/payments/mobilemoney`;
  return Object.freeze({ shortCodes, number, callbackUrl });
}

function readRequests(reading: Reading, paybillNumbers: readonly string[]): RequestConfig | undefined {
  const { settings, problems } = reading;
  const { MOBILEMONEY_PASSKEY: passkey, MOBILEMONEY_SHORT_CODE: shortCode } = settings;
  if (passkey === '') return undefined;
  checkRequired('MOBILEMONEY_PASSKEY', ['MOBILEMONEY_API_URL', 'MOBILEMONEY_SHORT_CODE'], reading);
  const callbackUrl = readCallbackUrl('MOBILEMONEY_PASSKEY', reading);
  if (settings.CURRENCY !== 'KES')
    problems.push(
      'MOBILEMONEY_PASSKEY can be set only if CURRENCY is KES, because payment requests are in KES',
    );
  checkShortCode(reading, paybillNumbers);
  return Object.freeze({ shortCode, passkey, callbackUrl });
}

function readStatus(reading: Reading, paybillNumbers: readonly string[]): StatusConfig | undefined {
  const {
    MOBILEMONEY_INITIATOR: initiator,
    MOBILEMONEY_INITIATOR_PASSWORD: password,
    MOBILEMONEY_SHORT_CODE: shortCode,
  } = reading.settings;
  const operator = ['MOBILEMONEY_INITIATOR_PASSWORD', 'MOBILEMONEY_CERTIFICATE'] as const;
  if (initiator === '') {
    checkUnused('MOBILEMONEY_INITIATOR', operator, reading);
    return undefined;
  }
  const required = ['MOBILEMONEY_API_URL', 'MOBILEMONEY_SHORT_CODE', ...operator] as const;
  checkRequired('MOBILEMONEY_INITIATOR', required, reading);
  const callbackUrl = readCallbackUrl('MOBILEMONEY_INITIATOR', reading);
  // With a passkey, `readRequests` has already checked the short code.
  if (reading.settings.MOBILEMONEY_PASSKEY === '') checkShortCode(reading, paybillNumbers);
  const publicKey = readPublicKey(reading);
  return publicKey && Object.freeze({ shortCode, initiator, password, publicKey, callbackUrl });
}

function readCallbackUrl(feature: keyof Settings, { settings, problems }: Reading): string {
  const url = settings.MOBILEMONEY_CALLBACK_URL || settings.PUBLIC_URL;
  if (url === '') problems.push(`MOBILEMONEY_CALLBACK_URL or PUBLIC_URL is required with ${feature}`);
  return withoutSlash(url);
}

function checkShortCode({ settings, problems }: Reading, paybillNumbers: readonly string[]): void {
  const { MOBILEMONEY_SHORT_CODE: shortCode } = settings;
  if (shortCode !== '' && paybillNumbers.length > 0 && !paybillNumbers.includes(shortCode))
    problems.push('MOBILEMONEY_SHORT_CODE must be one of PAYBILL_NUMBERS');
}

/** Reads a certificate, or a public key in PEM. */
function readPublicKey(reading: Reading): KeyObject | undefined {
  const bytes = readSettingFile('MOBILEMONEY_CERTIFICATE', reading);
  if (!bytes) return undefined;
  for (const read of [() => new X509Certificate(bytes).publicKey, () => createPublicKey(bytes)]) {
    try {
      const key = read();
      if (key.asymmetricKeyType === 'rsa') return key;
    } catch {
      // The file does not have this format. The code below reports a file that has neither format.
    }
  }
  reading.problems.push('MOBILEMONEY_CERTIFICATE must be the RSA certificate of the provider, in PEM or DER');
  return undefined;
}
