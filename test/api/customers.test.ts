import { describe, expect, it } from 'vitest';
import { newCustomer, useService } from '../harness.ts';

const service = useService();

describe('POST /customers', () => {
  it('registers a customer and repeats the fields sent', async () => {
    const body = {
      firstName: 'Ayanda',
      lastName: 'ወልደ',
      email: 'ayanda@example.com',
      phone: '+254711000001',
      nationalId: 'A 1234/56',
    };
    const { status, body: answer } = await service.call('POST', '/customers', body);
    expect(status).toBe(201);
    expect(answer).toMatchObject({ success: true, data: body });
  });

  it('turns a local phone number into the international form', async () => {
    const customer = await newCustomer(service, { phone: '0712 345 678' });
    expect(customer.phone).toBe('+254712345678');
  });

  it('names every wrong field at once', async () => {
    const { status, body } = await service.call('POST', '/customers', {
      firstName: 5,
      email: 'no',
      phon: '1',
    });
    expect(status).toBe(400);
    expect(body.error.code).toBe('VALIDATION_ERROR');
    const paths = body.error.details.fields.map((field: { path: string }) => field.path).sort();
    expect(paths).toEqual(['email', 'firstName', 'lastName', 'phon', 'phone']);
  });

  it('refuses a second customer with the same national id, however it is spelt, or e-mail', async () => {
    await newCustomer(service, { nationalId: 'ab-123', email: 'Twice@Example.com' });
    const sameId = await service.call('POST', '/customers', {
      firstName: 'A',
      lastName: 'B',
      phone: '+254711000002',
      nationalId: 'AB 123',
    });
    expect(sameId.status).toBe(409);
    expect(sameId.body.error).toMatchObject({ code: 'DUPLICATE_ENTRY', details: { field: 'nationalId' } });
    const sameMail = await service.call('POST', '/customers', {
      firstName: 'A',
      lastName: 'B',
      phone: '+254711000002',
      email: 'twice@example.com',
    });
    expect(sameMail.body.error).toMatchObject({ code: 'DUPLICATE_ENTRY', details: { field: 'email' } });
  });
});
