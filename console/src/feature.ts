import type { Account, BerthEvent } from '@berth/sdk'
import type { AnyRoute } from '@tanstack/react-router'
import { createContext } from 'react'
import type { Words } from './messages.ts'
import type { IconName } from './ui/icon.tsx'

/** The first part of an event's type: `ssh_key` of `ssh_key.created`. */
export type Resource = BerthEvent['type'] extends `${infer Name}.${string}` ? Name : never

/** A page in the menu and in the palette. */
export interface Place {
  route: AnyRoute
  group: 'top' | 'compute' | 'account' | 'operator'
  title: Words
  icon: IconName
}

/** A feature's contributions to the console. `app/features.ts` lists the features. */
export interface Feature {
  /** Pages with the menu beside them, for users who are signed in. */
  routes: readonly AnyRoute[]
  /** Pages without the menu. */
  bareRoutes?: readonly AnyRoute[]
  places?: readonly Place[]
  /** Titles of the account's limits. */
  quotas?: readonly { name: keyof Account['quotas']; title: Words }[]
  /**
   * Queries that events of other resources make out of date, by the first part of the query's key.
   * An event `x.*` always refreshes the queries of `x`.
   */
  refreshedBy?: Readonly<Record<string, readonly Resource[]>>
}

/** The features, for pages: they can't import `app/`. */
export const Features = createContext<readonly Feature[]>([])
