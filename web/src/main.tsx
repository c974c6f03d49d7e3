import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: false, // send() already repeats requests.
      staleTime: 10_000,
      networkMode: 'always', // send() waits for the network and shows that it waits.
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export function start(): void {
  const box = document.getElementById('app');
  if (!box) throw new Error('The page has no element #app.');
  createRoot(box).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App />
      </QueryClientProvider>
    </StrictMode>,
  );
}
