import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const page = createRoute({
  getParentRoute: () => shell,
  path: '/billing',
  component: lazyRouteComponent(() => import('./billing-page.tsx'), 'BillingPage'),
})

const paymentPage = createRoute({
  getParentRoute: () => shell,
  path: '/billing/payments/$paymentId',
  component: lazyRouteComponent(() => import('./payment-page.tsx'), 'PaymentPage'),
})

export const billing = {
  routes: [page, paymentPage],
  places: [{ route: page, group: 'account', title: { en: 'Billing', ru: 'Оплата' }, icon: 'billing' }],
  refreshedBy: { balance: ['server', 'address'] },
} as const satisfies Feature
