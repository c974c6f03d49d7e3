import { useState, useSyncExternalStore } from 'react';
import { client } from '../../api/client.ts';
import { type OpenedInvitation, openedInvitation } from '../../api/invitation.ts';
import { type Problem, problemOf } from '../../api/problem.ts';
import { offeredProviderSignOut, onSessionChange, sessionEnd, signIn } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { t } from '../../i18n/index.ts';
import { LanguageChoice } from '../../preferences.tsx';
import { Button } from '../../ui/button.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Form, FormButtons, type FormValues, TextField } from '../../ui/form.tsx';
import { usePageTitle } from '../../ui/page-title.ts';

/** Shown in place of any page while nobody is signed in, or after an invitation link was opened. */
export function Page({ onLanguageChange }: { onLanguageChange(): void }) {
  const { companyName, registrationOpen } = settings();
  const invitation = openedInvitation();
  const end = useSyncExternalStore(onSessionChange, sessionEnd);
  const [isRegistering, setIsRegistering] = useState(false);
  usePageTitle(t('session.title'));
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <p className="brand">
          <span className="brand-mark" aria-hidden="true" />
          <span>{companyName}</span>
        </p>
        {invitation ? (
          <Invited invitation={invitation} />
        ) : (
          <>
            <h1>{t(isRegistering ? 'session.register' : 'session.title')}</h1>
            <p className="muted">{t(isRegistering ? 'session.register.lead' : 'session.lead')}</p>
            {end === 'expired' && <Notice tone="info">{t('session.ended')}</Notice>}
            {end === 'other_user' && (
              <Notice tone="bad" title={t('session.otherUser')}>
                <p>{t('session.otherUser.hint')}</p>
                <Button onClick={() => location.reload()}>{t('app.reload')}</Button>
              </Notice>
            )}
            <ProviderSignOut />
            <ProviderFailure />
            {isRegistering ? <RegisterForm /> : <SignInForm />}
            {registrationOpen && (
              <Button kind="quiet" onClick={() => setIsRegistering(!isRegistering)}>
                {t(isRegistering ? 'session.register.have' : 'session.register')}
              </Button>
            )}
            {!isRegistering && <IdentityProviders />}
          </>
        )}
        <LanguageChoice onChange={onLanguageChange} />
      </div>
    </main>
  );
}

/** Shown if the console was opened with the link of an invitation. */
function Invited({ invitation: { purpose, token } }: { invitation: OpenedInvitation }) {
  const isNew = purpose === 'sign_up';
  return (
    <>
      <h1>{t(isNew ? 'session.invited' : 'session.identity')}</h1>
      <p className="muted">{t(isNew ? 'session.invited.lead' : 'session.identity.lead')}</p>
      {isNew && <RegisterForm invitation={token} />}
      <IdentityProviders invitation={token} hasForm={isNew} />
      <a className="button quiet" href="/">
        {t('session.register.have')}
      </a>
    </>
  );
}

/** Also shown in a dialog, over a page whose session has expired. */
export function SignInForm() {
  const { send, ...state } = useSignIn();
  return (
    <Form {...state} onSubmit={(values) => send(() => signIn(credentialsOf(values)))}>
      <TextField
        label={t('field.email')}
        name="email"
        type="email"
        autoComplete="username"
        required
        autoFocus
      />
      <TextField
        label={t('session.password')}
        name="password"
        type="password"
        autoComplete="current-password"
        required
      />
      <FormButtons submit={t('session.submit')} />
    </Form>
  );
}

function RegisterForm({ invitation }: { invitation?: string }) {
  const { send, ...state } = useSignIn();
  async function register(values: FormValues) {
    const credentials = credentialsOf(values);
    const names = { firstName: values.text('firstName'), lastName: values.text('lastName') };
    const body = { ...credentials, ...names, ...(invitation !== undefined && { invitation }) };
    const { error } = await client.POST('/api/auth/register', { body });
    if (error) throw error;
    await signIn(credentials);
    if (invitation !== undefined) location.assign('/');
  }
  return (
    <Form {...state} onSubmit={(values) => send(() => register(values))}>
      <TextField label={t('field.firstName')} name="firstName" autoComplete="given-name" required autoFocus />
      <TextField label={t('field.lastName')} name="lastName" autoComplete="family-name" required />
      <TextField label={t('field.email')} name="email" type="email" autoComplete="username" required />
      <TextField
        label={t('session.password')}
        name="password"
        type="password"
        autoComplete="new-password"
        hint={t('session.newPassword.hint')}
        required
      />
      <FormButtons submit={t('session.register.submit')} />
    </Form>
  );
}

/** A password can begin or end with spaces. */
function credentialsOf(values: FormValues) {
  return { email: values.text('email'), password: values.raw('password') };
}

function useSignIn() {
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setIsSending] = useState(false);
  async function send(work: () => Promise<void>) {
    setIsSending(true);
    await work().catch((error: unknown) => setProblem(signInProblemOf(error)));
    setIsSending(false);
  }
  return { problem, isSending, send };
}

/** After a sign-in through an identity provider, the sign-out does not end the session at the provider. */
function ProviderSignOut() {
  const offered = useSyncExternalStore(onSessionChange, offeredProviderSignOut);
  if (!offered) return null;
  const provider = nameOfProvider(offered.provider);
  return (
    <Notice tone="info">
      <p>{t('session.provider.stillSignedIn', { provider })}</p>
      <a href={offered.url}>{t('session.provider.signOut', { provider })}</a>
    </Notice>
  );
}

const nameOfProvider = (name: string) => name.charAt(0).toUpperCase() + name.slice(1);

/** Why the identity provider sent the user back without a session. */
function ProviderFailure() {
  const code = new URLSearchParams(location.search).get('signInError');
  if (code === null) return null;
  const isKnown = code === 'AUTH_FAILED' || code === 'DUPLICATE_ENTRY' || code === 'FORBIDDEN';
  return (
    <Notice tone="bad">
      {isKnown ? t(`session.provider.${code}`) : t('session.provider.other', { code })}
    </Notice>
  );
}

function IdentityProviders({ invitation, hasForm = true }: { invitation?: string; hasForm?: boolean }) {
  const { identityProviders } = settings();
  if (identityProviders.length === 0) return null;
  const query = new URLSearchParams({ mode: 'browser', ...(invitation !== undefined && { invitation }) });
  return (
    <div className="providers">
      {hasForm && <p className="divider">{t('session.or')}</p>}
      {identityProviders.map(({ name }) => (
        <a key={name} className="button secondary" href={`/api/auth/${name}?${query}`}>
          {t('session.with', { provider: nameOfProvider(name) })}
        </a>
      ))}
    </div>
  );
}

/** Why signing in failed. The service does not say whether the e-mail or the password is wrong. */
function signInProblemOf(error: unknown): Problem | undefined {
  const problem = problemOf(error);
  if (problem?.code === 'CONNECTION')
    return { ...problem, code: 'INTERNAL_ERROR', message: t('session.unavailable') };
  if (problem?.code === 'AUTH_FAILED') return { ...problem, message: t('session.failed') };
  if (problem?.code === 'RATE_LIMITED') return { ...problem, message: t('session.tooMany') };
  return problem;
}
