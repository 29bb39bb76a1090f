import type { ImageSpec } from '../drivers/images.ts'
import type { Secrets } from '../secrets.ts'
import type { ServerTable } from './tables.ts'

/** The system that servers boot in rescue: the micro image, which Berth builds itself. */
export const RESCUE_IMAGE: ImageSpec = { slug: 'micro', sources: [{ type: 'build', name: 'micro' }] }

/** The user of the rescue system: root, because people repair the files of all users. */
export const RESCUE_USER = 'root'

/** The login of a rescue system, whose password is sealed as that of a server. */
export type RescueLogin = Pick<ServerTable, 'ssh_keys' | 'password'>

/** The columns of a server that decide how people log in to the system that it boots. */
export function presentLogin({
  rescue_login,
  ssh_keys,
  password,
}: Pick<ServerTable, 'rescue_login' | 'ssh_keys' | 'password'>): RescueLogin {
  if (rescue_login === null) return { ssh_keys, password }
  const login: RescueLogin = JSON.parse(rescue_login)
  return login
}

export function openPassword(secrets: Secrets, { password }: Pick<RescueLogin, 'password'>): string | null {
  return password === null ? null : secrets.open(password)
}
