import { nameOfKey, t } from '../../i18n/index.ts';

/** @param actor - who made a change: the e-mail of a user, `api key <name>`, `provider <name>`, or `system` for the service. */
export function nameOfActor(actor: string): string {
  if (actor === 'system') return t('actor.system');
  const [, kind, name = ''] = /^(provider|api key) (.+)$/.exec(actor) ?? [];
  if (kind === 'provider') return t('actor.provider', { name: nameOfKey(name) });
  return kind === 'api key' ? t('actor.apiKey', { name }) : actor;
}
