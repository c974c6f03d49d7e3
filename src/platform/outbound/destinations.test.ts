import { describe, expect, it } from 'vitest';
import { createNetworks } from '../../core/http/addresses.ts';
import { mayConnect, problemOfDestination } from './destinations.ts';

const nothing = { hosts: new Set<string>(), networks: undefined };
const allowed = {
  hosts: new Set(['erp.internal']),
  networks: createNetworks(['10.1.0.0/16', 'fd00:1::/32']),
};

describe('an address that a user gives', () => {
  it.each([
    'https://erp.example.com/hooks?token=a',
    'https://erp.example.com:443/',
    'https://erp.example.com:8443/',
    'https://1.1.1.1/',
    'https://[2606:4700::1111]/',
  ])('is accepted: %s', (text) => {
    expect(problemOfDestination(text, nothing)).toBeUndefined();
  });

  it.each([
    ['erp.example.com/hooks', 'must be an address'],
    ['https://', 'must be an address'],
    ['https://erp.example.com/a b', 'must be an address'],
    ['https://erp.example.com\\@127.0.0.1/', 'must be an address'],
    ['https:///erp.example.com/', 'must be an address'],
    ['https:erp.example.com', 'must be an address'],
    ['https://@erp.example.com/', 'must be an address'],
    ['https://localhost/', 'public internet'],
    ['https://LOCALHOST.:8443/', 'public internet'],
    ['https://erp.localhost/', 'public internet'],
    ['ftp://erp.example.com/', 'must start with https://'],
    ['file:///etc/passwd', 'must start with https://'],
    ['http://erp.example.com/', 'must start with https://'],
    ['https://user@erp.example.com/', 'must not contain a user'],
    ['https://erp.example.com:secret@127.0.0.1/', 'must not contain a user'],
    ['https://erp.example.com/#', 'must not contain #'],
    ['https://erp.example.com:22/', 'must use port 443'],
    ['https://erp.example.com:25/', 'must use port 443'],
  ])('is refused: %s', (text, problem) => {
    expect(problemOfDestination(text, nothing)).toContain(problem);
  });

  it.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '017700000001',
    '127.0.0.1.',
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '169.254.169.254',
    '168.63.129.16',
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[100::1]',
  ])('is refused with the host %s, in any protocol', (host) => {
    expect(problemOfDestination(`https://${host}/`, nothing)).toMatch(/public internet/);
    expect(problemOfDestination(`http://${host}/`, nothing)).toMatch(/https/);
  });

  it.each([
    'http://erp.internal/',
    'http://ERP.internal.:80/',
    'https://erp.internal:22/',
    'http://10.1.2.3/',
    'https://[::ffff:10.1.2.3]/',
    'http://[fd00:1::1]:9000/',
  ])('is accepted only if its host is allowed: %s', (text) => {
    expect(problemOfDestination(text, allowed)).toBeUndefined();
    expect(problemOfDestination(text, nothing)).toBeDefined();
  });
});

describe('a connection', () => {
  it('is allowed to public addresses, and to private ones of an allowed host or network', () => {
    expect(mayConnect('erp.example.com', '1.1.1.1', nothing)).toBe(true);
    expect(mayConnect('erp.example.com', '10.1.2.3', nothing)).toBe(false);
    expect(mayConnect('erp.example.com', '10.1.2.3', allowed)).toBe(true);
    expect(mayConnect('erp.example.com', '10.2.2.3', allowed)).toBe(false);
    expect(mayConnect('erp.internal', '10.2.2.3', allowed)).toBe(true);
    expect(mayConnect('erp.example.com', 'not an address', nothing)).toBe(false);
  });
});
