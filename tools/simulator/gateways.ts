import type { Body } from './traffic.ts';

/** Describes how a provider's gateway posts a notification and reads the answer. */
export interface Gateway {
  /** Relative to the address of the service. */
  path: string;
  contentType: string;
  /** Whether the provider returns the money to the payer if the service refuses the notification. */
  returnsMoney: boolean;
  write(body: Body): string;
  /** @returns undefined for an answer after which the gateway sends the notification again. */
  read(text: string): { outcome: string } | { refusal: string } | undefined;
}

const mobilemoney: Gateway = {
  path: '/api/webhooks/payments/mobilemoney',
  contentType: 'application/json',
  returnsMoney: false,
  write: (body) => JSON.stringify(body),
  read(text) {
    const { ResultCode, ResultDesc, data } = JSON.parse(text);
    return ResultCode === 0 ? { outcome: data.outcome } : { refusal: `${ResultCode} ${ResultDesc}` };
  },
};

const tigopesa: Gateway = {
  path: '/api/webhooks/payments/tigopesa',
  contentType: 'text/xml',
  returnsMoney: true,
  write(body) {
    const fields = {
      TYPE: 'SYNC_BILLPAY_REQUEST',
      TXNID: body.TransID,
      MSISDN: body.MSISDN,
      AMOUNT: body.TransAmount,
      COMPANYNAME: body.BusinessShortCode,
      CUSTOMERREFERENCEID: body.BillRefNumber,
    };
    const elements = Object.entries(fields).map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`);
    return `<?xml version="1.0"?><COMMAND>${elements.join('')}</COMMAND>`;
  },
  read(text) {
    const field = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? '';
    if (field('ERRORCODE') === 'error111') return undefined;
    if (field('RESULT') === 'TS') return { outcome: 'posted' };
    return { refusal: `${field('ERRORCODE')} ${field('ERRORDESCRIPTION')}` };
  },
};

export const GATEWAYS: Readonly<Record<string, Gateway>> = { mobilemoney, tigopesa };

function escapeXml(value: string | number | undefined): string {
  return String(value ?? '').replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`);
}
