import type { Console } from '../console.ts'
import type { GuestLogin, PrivateCard } from '../driver.ts'
import { QemuVolumes } from './volumes.ts'

/** The calls that a machine's guest takes part in while it runs. */
export abstract class QemuGuests extends QemuVolumes {
  setPassword(serverId: string, login: GuestLogin): Promise<void> {
    return this.machine(serverId).setPassword(login)
  }

  setAddress(serverId: string, card: PrivateCard): Promise<void> {
    return this.machine(serverId).setAddress(card)
  }

  growDisk(serverId: string, diskGb: number): Promise<void> {
    return this.machine(serverId).growDisk(diskGb)
  }

  openScreen(serverId: string): Promise<Console> {
    return this.machine(serverId).openScreen()
  }
}
