/** How the provider and the service write amounts, times and numbers. */

const EAST_AFRICA_MS = 3 * 3_600_000;

/** yyyyMMddHHmmss */
export function eastAfricaDigits(time: Date): string {
  return eastAfricaIso(time).replace(/\D/g, '');
}

/** YYYY-MM-DDTHH:mm:ss */
export function eastAfricaIso(time: Date): string {
  return new Date(time.getTime() + EAST_AFRICA_MS).toISOString().slice(0, 19);
}

/** Reads YYYY-MM-DD HH:mm:ss. */
export function parseEastAfrica(text: string): Date {
  return new Date(new Date(`${text.replace(' ', 'T')}Z`).getTime() - EAST_AFRICA_MS);
}

export function formatAmount(minor: bigint, decimals: number): string {
  if (decimals === 0) return String(minor);
  const digits = String(minor).padStart(decimals + 1, '0');
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Reads an amount of the API. */
export function toMinor(amount: number, decimals: number): bigint {
  return BigInt(amount.toFixed(decimals).replace('.', ''));
}

/** A phone number as notifications of the provider show it. */
export function maskedNumber(digits: string): string {
  return `${digits.slice(0, 4)}****${digits.slice(-3)}`;
}
