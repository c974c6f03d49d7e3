import type { paths, Schemas } from '@account-management/client';

export type { Schemas };
export type Permission = Schemas['Permission'];

export type Settings = Schemas['Settings'];
export type SignedIn = Schemas['BrowserSession'];

export interface ScheduleItem {
  /** 0 is the deposit. */
  item: number;
  dueDate: string;
  amount: number;
  covered: number;
  remaining: number;
  state: string;
}

interface Reads<Data> {
  parameters: { query?: never; header?: never; path: { id: number }; cookie?: never };
  get: {
    parameters: { query?: never; header?: never; path: { id: number }; cookie?: never };
    responses: {
      200: {
        headers: Record<string, unknown>;
        content: { 'application/json': { success: true; data: Data; message: string } };
      };
    };
  };
}

/** The paths of the API. */
export type Paths = paths & { '/api/accounts/{id}/schedule': Reads<ScheduleItem[]> };
