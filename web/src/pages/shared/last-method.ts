const STORAGE_KEY = 'last-payment-method';

/** The payment method of the last payment that was recorded in this browser. */
export function lastMethod(): string {
  return localStorage.getItem(STORAGE_KEY) ?? '';
}

export function keepLastMethod(paymentMethodId: number): void {
  localStorage.setItem(STORAGE_KEY, String(paymentMethodId));
}
