import type { paths as Paths, Schemas } from '@account-management/client';

export type { Paths, Schemas };
export type Permission = Schemas['Permission'];

export type Settings = Schemas['Settings'];
export type SignedIn = Schemas['BrowserSession'];
