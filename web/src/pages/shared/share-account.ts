import { client } from '../../api/client.ts';
import { shareText } from './share.ts';

/** Shares how to pay for an account, in the language of the customer. */
export function shareAccountNumber(accountId: number): Promise<void> {
  return shareText(async () => {
    const params = { path: { id: accountId } };
    const { data, error } = await client.GET('/api/accounts/{id}/payment-instructions', { params });
    if (!data) throw error;
    return data.data.text;
  });
}
