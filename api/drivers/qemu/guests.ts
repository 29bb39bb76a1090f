import type { GuestLogin, PrivateCard } from '../driver.ts'
import { QemuVolumes } from './volumes.ts'

/** The changes of machines that their guests take part in while they run. */
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
}
