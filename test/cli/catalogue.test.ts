import { test } from 'vitest'
import { expectSession, loggedIn } from './harness/berth.ts'

test('the catalogue is listed with prices', async () => {
  await expectSession(await loggedIn(), 'catalogue', [
    'zone list',
    'zone list -o json',
    'zone list --sort planet',
    'template list',
    'template list -o name',
    'template list -o json',
    'template list --columns kernel',
    'preset list',
    'preset list --zone local-1 --cpu-type intel --columns name,month',
    'preset list -o name',
    'preset list -o json',
    'preset list --zone mars',
    'preset list --cpu-type arm',
    'limits',
    'limits --cpu-type intel -o json',
    'limits --zone mars',
    'capacity',
    'capacity --zone local-1 --columns zone,level',
    'capacity --zone local-1 -o json',
    'capacity --zone mars',
  ])
})

test('a quote shows the price of a server and any reasons for a refusal, which are not errors', async () => {
  const t = await loggedIn({ balance: '10' })
  await expectSession(t, 'quote', [
    'quote --preset nano',
    'quote --cpu 1 --ram-mb 512 --disk-gb 5 --cpu-type intel',
    'quote --cpu 4 --ram-mb 8192 --disk-gb 100 --template micro',
    'quote --cpu 32 --ram-mb 131072 --disk-gb 2000 -o json',
    'quote --cpu many',
    'quote --cpu 0 --ram-mb 512 --disk-gb 5',
    'quote --cpu 1',
    'quote --preset giant',
    'quote --preset nano --template dos',
    'quote --preset nano --template ubuntu',
    'quote --preset nano --ssh-key none',
    'quote --preset nano --project 00000000-0000-4000-8000-000000000000',
  ])
})
