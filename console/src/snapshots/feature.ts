import { createRoute, lazyRouteComponent } from '@tanstack/react-router'
import type { Feature } from '../feature.ts'
import { shell } from '../routes.ts'

const page = createRoute({
  getParentRoute: () => shell,
  path: '/snapshots',
  component: lazyRouteComponent(() => import('./snapshots-page.tsx'), 'SnapshotsPage'),
})

const images = createRoute({
  getParentRoute: () => shell,
  path: '/images',
  component: lazyRouteComponent(() => import('./images-page.tsx'), 'ImagesPage'),
})

const isos = createRoute({
  getParentRoute: () => shell,
  path: '/isos',
  component: lazyRouteComponent(() => import('./isos-page.tsx'), 'IsosPage'),
})

export const snapshots = {
  routes: [page, images, isos],
  places: [
    { route: page, group: 'compute', title: { en: 'Snapshots', ru: 'Снимки' }, icon: 'snapshot' },
    { route: images, group: 'compute', title: { en: 'Images', ru: 'Образы' }, icon: 'image' },
    { route: isos, group: 'compute', title: { en: 'ISOs', ru: 'ISO-образы' }, icon: 'image' },
  ],
  // A backup that begins or is canceled has no event of its own.
  refreshedBy: { backup: ['operation', 'server'] },
  quotas: [
    { name: 'snapshots', title: { en: 'Snapshots', ru: 'Снимки дисков' } },
    { name: 'images', title: { en: 'Images', ru: 'Образы' } },
    { name: 'isos', title: { en: 'ISOs', ru: 'ISO-образы' } },
    { name: 'image_files_gb', title: { en: 'Image files, GB', ru: 'Файлы образов, ГБ' } },
  ],
} as const satisfies Feature
