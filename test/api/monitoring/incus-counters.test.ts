import { expect, test } from 'vitest'
import { countersOf } from '../../../api/drivers/incus/metrics.ts'

test('packets of public cards are counted, and what Incus does not count is unknown', () => {
  const lines = [
    ['network_receive_packets_total', 'eth0', 100],
    ['network_transmit_packets_total', 'eth0', 900],
    ['network_transmit_packets_total', 'lo', 50],
    ['network_transmit_packets_total', 'n1', 70],
    ['network_transmit_bytes_total', 'eth0', 5_000],
  ].map(
    ([family, device, value]) => `incus_${family}{project="berth",name="s-1",device="${device}"} ${value}`,
  )
  const found = countersOf(lines.join('\n'), 'berth', () => ['n1']).get('s-1')
  expect(found).toMatchObject({
    networkTxBytes: 5_000,
    networkRxBytes: null,
    counts: { rxPackets: 100, txPackets: 900, opened: null, mailsRefused: null },
  })
})
