// This import must come before the router, which reads the address.
import './opened-account.ts'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { router } from './app/router.tsx'
import './people/opened-with.ts'
import { queryClient } from './client.ts'
import { applyPreferences } from './preferences.ts'
import { sessionQuery } from './session.ts'
import './ui/base.css'
import './ui/controls.css'
import './ui/data.css'
import './app/shell.css'

applyPreferences()
// Starts loading what nearly every page needs before the router does.
if (!/^\/(sign-in|sign-in\/provider|sign-up|reset|invitation)$/.test(location.pathname)) {
  void queryClient.prefetchQuery(sessionQuery)
  void import('./app/shell.tsx')
}
// Loads the Russian errors early, so that none shows in English first.
if (document.documentElement.lang === 'ru') void import('./ui/russian.ts')
const place = document.getElementById('root')
if (place)
  createRoot(place).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </StrictMode>,
  )
