/** The invitation from the link that opened the console. */
export interface OpenedInvitation {
  purpose: 'sign_up' | 'link_identity';
  token: string;
}

const FRAGMENTS = { sign_up: 'invitation', link_identity: 'identity' } as const;

const opened = takeInvitation();

export function openedInvitation(): OpenedInvitation | undefined {
  return opened;
}

/** The link for an invited person. The token is in the fragment, which browsers send neither to servers nor in referrers. */
export function invitationLink({ purpose, token }: OpenedInvitation): string {
  return `${location.origin}/#${FRAGMENTS[purpose]}=${token}`;
}

/** Reads the invitation from the URL, and removes its token from the address bar and from the history. */
function takeInvitation(): OpenedInvitation | undefined {
  const [, name, token] = /^#(invitation|identity)=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  return { purpose: name === FRAGMENTS.sign_up ? 'sign_up' : 'link_identity', token };
}
