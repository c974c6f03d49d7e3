import { nameOfKey, t } from '../../i18n/index.ts';

/** Who made a change: the e-mail of a user, the name of an API key, the service itself, or a provider. */
export function nameOfActor(actor: string): string {
  if (actor === 'system') return t('actor.system');
  const [, provider] = /^provider (\w+)$/.exec(actor) ?? [];
  return provider === undefined ? actor : t('actor.provider', { name: nameOfKey(provider) });
}
