import type { ActName } from './requests.ts'
import type { Blow } from './setup.ts'

/** The time within which an act of a tour has its effect. */
export const TOUR_MS = 20 * 60_000

/**
 * The life of an installation in order: each act meets what it needs, and ends before the next one. `day` lets a day
 * pass; guests write to their disks, crash and shut down.
 */
export const tour: readonly (ActName | Exclude<Blow, 'none'> | 'day')[] = [
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
  ...(['move', 'day', 'day'] as const),
]
