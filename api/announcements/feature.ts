import { feature } from '../feature.ts'
import { forgetAnnouncements } from './announcements.ts'
import { announcementRoutes } from './routes.ts'

export const announcements = feature({
  routes: announcementRoutes,
  cleaning: () => ({ old: { announcements: { days: 365, delete: forgetAnnouncements } } }),
})
