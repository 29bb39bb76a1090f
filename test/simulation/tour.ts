import type { FaultKind } from './faults.ts'
import type { ActName } from './requests.ts'
import type { Blow } from './setup.ts'

/** The time within which an act of a tour takes effect. */
export const TOUR_MS = 20 * 60_000

/**
 * The life of an installation in order: each act finds everything it needs, and ends before the next one. `day` lets a
 * day pass, `night` a day whose work coincides with the next act, and `quarter` a quarter of an hour. Guests write to
 * their disks, crash and shut down.
 */
export const tour: readonly (ActName | Exclude<Blow, 'none'> | 'day' | 'night' | 'quarter')[] = [
  ...(['order', 'write', 'volume', 'attach_volume', 'grow_volume', 'network', 'attach'] as const),
  ...(['firewall', 'protect', 'change_rules', 'webhook', 'try_webhook', 'token', 'project'] as const),
  ...(['reserve', 'move_address', 'publish', 'describe', 'move_project', 'quote', 'read', 'show'] as const),
  ...(['snapshot', 'write', 'image', 'backups', 'day', 'keep_backup', 'restore_backup', 'write'] as const),
  ...([
    'receivers_away',
    'stop',
    'stop',
    'resize',
    'start',
    'resize',
    'reset_password',
    'reboot',
    'rescue',
    'unrescue',
  ] as const),
  ...([
    'restore',
    'write',
    'rebuild',
    'hold',
    'operate',
    'operate',
    'operate',
    'credit',
    'credit',
    'pay',
    'pay',
    'charge_method',
    'charge_method',
    'auto_top_up',
    'refund',
    'stop_auto_top_up',
    'forget_method',
  ] as const),
  ...(['order', 'deplete', 'day', 'day', 'refill', 'start', 'detach_volume', 'attach_volume'] as const),
  ...(['detach', 'attach', 'unprotect', 'protect', 'unpublish', 'publish', 'pause_webhook'] as const),
  ...(['change_role', 'remove_member', 'remove_member', 'remove_member', 'overstep'] as const),
  ...(['remove_backup', 'delete', 'day'] as const),
  ...(['detach_volume', 'remove_volume', 'remove_image', 'remove_snapshot', 'release', 'revoke'] as const),
  ...(['remove_network', 'remove_firewall', 'remove_webhook', 'remove_project'] as const),
  ...(['order', 'volume', 'attach_volume', 'network', 'attach', 'firewall', 'protect', 'delete'] as const),
  ...(['give_up', 'give_up', 'order', 'stop', 'full', 'grow'] as const),
  ...(['give_up_resize', 'order', 'stop', 'give_up_resize', 'order', 'volume', 'attach_volume'] as const),
  ...(['detach_volume', 'crash', 'shutdown', 'start', 'deplete', 'day', 'day'] as const),
  ...(['refill', 'order', 'backups', 'snapshot', 'firewall', 'protect', 'publish', 'move', 'day'] as const),
  ...(['transfer', 'arrive', 'arrive', 'arrive', 'promote', 'redeem', 'redeem', 'redeem', 'order'] as const),
  ...(['complain', 'complain', 'answer', 'complain', 'complain', 'answer', 'complain', 'answer'] as const),
  ...(['announce', 'announce', 'day', 'day', 'redeem', 'complain', 'answer', 'complain', 'order'] as const),
  ...(['move', 'day', 'order', 'collide', 'start', 'collide', 'start', 'collide', 'crash', 'order'] as const),
  ...(['day', 'clock_back', 'stop', 'start', 'delete', 'day', 'clock_ahead', 'give_up', 'give_up'] as const),
  ...(['pay', 'pay', 'day'] as const),
  ...([
    'upload_image',
    'upload_image',
    'resume_image',
    'resume_image',
    'fetch_image',
    'fetch_image',
  ] as const),
  ...(['order', 'upload_iso', 'resume_iso', 'fetch_iso', 'insert_iso', 'insert_iso', 'remove_iso'] as const),
  ...(['upload_image', 'upload_iso', 'remove_image', 'remove_iso', 'fetch_image', 'remove_image'] as const),
  ...(['crowd', 'crowd', 'upload_image', 'upload_image', 'upload_iso', 'day', 'day', 'day', 'day'] as const),
  ...([
    'order',
    'volume',
    'reserve',
    'night',
    'clock_ahead',
    'delete',
    'remove_volume',
    'quarter',
    'night',
    'release',
  ] as const),
  ...(['order', 'announce', 'announce', 'try_webhook', 'order', 'stop', 'day'] as const),
]

/** The faults with the most effect on an act, which rough tours prefer. */
export const favourites: Readonly<Partial<Record<(typeof tour)[number], readonly FaultKind[]>>> = {
  day: ['kill', 'kill', 'lost_commit', 'pause'],
  give_up: ['late_call', 'late_call', 'pause'],
  order: ['kill', 'slow_call', 'pause', 'lost_commit'],
  start: ['slow_call', 'pause', 'kill'],
  stop: ['slow_call', 'pause', 'kill'],
  reboot: ['slow_call', 'pause', 'kill'],
  pay: ['provider_answer_lost', 'provider_answer_lost', 'kill'],
  charge_method: ['provider_answer_lost', 'kill'],
  volume: ['late_call', 'kill'],
  try_webhook: ['failover', 'database_away', 'lost_commit', 'kill'],
}
