import { readFileSync } from 'node:fs';
import { type AllowedDestinations, createNetworks, sizeOf } from '../core/http/addresses.ts';
import type { Settings } from './settings.ts';

// Functions that read the values of settings. They add a problem for each wrong value. A problem never contains the value, which
// may be a secret.

/** The settings, and everything that is wrong with them, so that the operator sees all problems at once. */
export interface Reading {
  readonly settings: Settings;
  readonly production: boolean;
  readonly problems: string[];
}

/** Checks that all settings that a feature needs are set. @param feature - the setting that turns the feature on. */
export function checkRequired(
  feature: keyof Settings,
  names: readonly (keyof Settings)[],
  { settings, problems }: Reading,
): void {
  for (const name of names) if (settings[name] === '') problems.push(`${name} is required with ${feature}`);
}

/** Called for a feature that is off. Checks that its other settings are empty. */
export function checkUnused(
  feature: keyof Settings,
  names: readonly (keyof Settings)[],
  { settings, problems }: Reading,
): void {
  for (const name of names) if (settings[name] !== '') problems.push(`${name} requires ${feature}`);
}

/** Splits a list at commas. Refuses a value that has only commas, because an empty list often means "any". */
export function commaList(name: string, text: string, problems: string[]): string[] {
  const list = text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  if (text !== '' && list.length === 0)
    problems.push(`${name} has only commas: list at least one item, or leave it empty`);
  return list;
}

export function readOrigins(name: 'CORS_ORIGINS', { settings, problems }: Reading): string[] {
  const text = settings[name];
  const list = commaList(name, text, problems);
  const isOrigin = (item: string) => URL.canParse(item) && new URL(item).origin === item;
  if (text.includes('*')) problems.push(`${name} must list each origin; * would allow every web page`);
  else if (!list.every(isOrigin))
    problems.push(
      `${name} must be a list of origins such as https://app.example.com, separated by commas, without a path`,
    );
  return list;
}

/** The shortest allowed prefixes of networks. The largest private network is 10.0.0.0/8. */
const WIDEST = { ipv4: 8, ipv6: 16 };

interface NetworkRule {
  name: 'TRUST_PROXY' | 'WEBHOOK_ALLOWED_IPS' | 'WEBHOOKS_OUT_ALLOW';
  /** Why a wide network is dangerous, for the error message. Undefined if wide networks are allowed. */
  danger: string | undefined;
  remedy: string;
}

export function readNetworks(rule: NetworkRule, { settings, problems }: Reading): string[] {
  const { name } = rule;
  const list = commaList(name, settings[name], problems);
  if (!list.every(isNetwork)) {
    problems.push(`${name} must be a list of networks such as 10.0.0.0/8, separated by commas`);
    return [];
  }
  checkWidths(rule, list, problems);
  return list;
}

/** Reads a list in which each item is a network or the name of a host. */
export function readDestinations(
  name: 'WEBHOOKS_OUT_ALLOW',
  { settings, problems }: Reading,
): AllowedDestinations {
  const list = commaList(name, settings[name], problems);
  const networks = list.filter(isNetwork);
  const hosts = list.filter((item) => !isNetwork(item)).map((host) => host.toLowerCase());
  const danger = 'webhooks could reach every host in it';
  checkWidths({ name, danger, remedy: 'list only the hosts that receive webhooks' }, networks, problems);
  if (!hosts.every((host) => /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(host)))
    problems.push(
      `${name} must be a list of host names such as erp.internal and networks such as 10.0.0.0/8, separated by commas`,
    );
  return { hosts: new Set(hosts), networks: networks.length > 0 ? createNetworks(networks) : undefined };
}

function isNetwork(text: string): boolean {
  return sizeOf(text, WIDEST) !== 'invalid';
}

function checkWidths(
  { name, danger, remedy }: NetworkRule,
  networks: readonly string[],
  problems: string[],
): void {
  const sizes = networks.map((network) => sizeOf(network, WIDEST));
  if (sizes.includes('every address')) problems.push(`${name} must not contain every address; ${remedy}`);
  else if (danger !== undefined && sizes.includes('too wide'))
    problems.push(
      `${name} must not contain a network wider than /${WIDEST.ipv4} (IPv4) or /${WIDEST.ipv6} (IPv6), because ${danger}; ${remedy}`,
    );
}

/** A web address without a slash at its end, so that a path can be appended. */
export function withoutSlash(address: string): string {
  return address.replace(/\/+$/, '');
}

/** Reads the file whose path is the value of a setting. */
export function readSettingFile(
  name: 'COMPANY_LOGO' | 'MOBILEMONEY_CERTIFICATE',
  { settings, problems }: Reading,
): Buffer | undefined {
  const path = settings[name];
  if (path === '') return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    problems.push(`${name} cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}
