import type { TProperties } from 'typebox'
import { incus } from '../incus/module.ts'
import type { ZoneFields } from '../module.ts'
import { qemu } from '../qemu/module.ts'
import { simulator } from '../simulator/module.ts'

/** All drivers. A new one is a folder with a module, and its line here. */
export const modules = [qemu, incus, simulator] as const

export type Module = (typeof modules)[number]
export type DriverName = Module['name']

/** A driver of this host, which every zone may use. The others have a driver for each zone. */
export const hostModules = modules.filter(({ isPerZone }) => !isPerZone)

/** The driver of new servers, unless settings or their zone name another one. */
export const defaultModule = hostModules.find(({ isReal }) => isReal) ?? qemu

type Both<Union> = (Union extends unknown ? (part: Union) => void : never) extends (all: infer All) => void
  ? All
  : never

function together<Part extends TProperties>(parts: readonly Part[]): Both<Part> {
  // Object.assign returns an object with the properties of all parts.
  return Object.assign({}, ...parts) as Both<Part>
}

/** The drivers' own fields of a zone in the catalogue file. */
export const zoneFields = together(modules.map((module) => module.zoneFields))

/** The ways in which the catalogue file names images, each once. */
export const imageFormats = [...new Set(modules.map(({ image }) => image))]

/** The fields of a template's images in the catalogue file. */
export const imageFields = together(imageFormats.map(({ fields }) => fields))

/** The driver of a zone. A zone that names none uses a driver of this host, all of which answer for it alike. */
export function moduleOf({ driver }: ZoneFields): Module {
  return modules.find(({ name }) => name === driver) ?? defaultModule
}

/** The driver of a pool; null: no driver has a pool of this name. */
export function moduleOfPool(pool: string): Module | null {
  const isIts = ({ name, isPerZone }: Module) => (isPerZone ? pool.startsWith(`${name}-`) : pool === name)
  return modules.find(isIts) ?? null
}

/** The drivers that are separate for each zone. */
export const poolsPerZone: readonly string[] = modules.flatMap(({ name, isPerZone }) =>
  isPerZone ? [name] : [],
)
