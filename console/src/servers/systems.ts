import type { Image, Template } from '@berth/sdk'

/** A system to create servers from: a template, or an image of one's own. */
export interface System {
  /** A value for choices: the template's slug, or the image's id behind its kind. */
  value: string
  title: string
  osFamily: string
  minDiskGb: number
}

const IMAGE = 'image:'

/** @param images those of the account; only available ones of the server's zone are offered */
export function systemsOf(templates: readonly Template[], images: readonly Image[], zone: string): System[] {
  return [
    ...templates.map(({ slug, title, os_family, min_disk_gb }) => ({
      value: slug,
      title,
      osFamily: os_family,
      minDiskGb: min_disk_gb,
    })),
    ...images
      .filter(({ status, zone_slug }) => status === 'available' && zone_slug === zone)
      .map(({ image_id, name, os_family, min_disk_gb }) => ({
        value: `${IMAGE}${image_id}`,
        title: name,
        osFamily: os_family ?? '',
        minDiskGb: min_disk_gb ?? 0,
      })),
  ]
}

/** The fields of a request that name a system. */
export function sourceOf(value: string): { template: string } | { image_id: string } {
  return value.startsWith(IMAGE) ? { image_id: value.slice(IMAGE.length) } : { template: value }
}
