import { messages } from '../messages.ts'

export const useDeviceText = messages({
  en: {
    title: 'Sign in on another device',
    about: 'A program such as berth shows a code and waits for your approval.',
    code: 'Code',
    codeHint: 'As the program shows it, such as WDJB-MJHT.',
    next: 'Next',
    program: 'Program',
    address: 'Address',
    hereToo: 'your current network',
    elsewhere: 'not your current network',
    started: 'Started',
    allows: 'Allows',
    byRole: (role: string) => `Everything that your role (${role}) allows`,
    account: 'Account',
    beware:
      'Approve only a login that you started yourself a moment ago. Anyone who sends you a code or a link to this page wants access to your account.',
    approve: 'Approve',
    deny: 'Deny',
    approved: 'Approved',
    approvedAbout:
      'The program logs in within seconds. You can close this page. To revoke its token, go to API tokens.',
    denied: 'Denied',
    deniedAbout: 'The program got no access.',
    noAccount: 'You are not a member of any account.',
  },
  ru: {
    title: 'Вход на другом устройстве',
    about: 'Программа, например berth, показывает код и ждёт вашего подтверждения.',
    code: 'Код',
    codeHint: 'Как его показывает программа, например WDJB-MJHT.',
    next: 'Далее',
    program: 'Программа',
    address: 'Адрес',
    hereToo: 'вы в той же сети',
    elsewhere: 'вы в другой сети',
    started: 'Начат',
    allows: 'Разрешает',
    byRole: (role: string) => `Всё, что позволяет ваша роль (${role})`,
    account: 'Аккаунт',
    beware:
      'Подтверждайте только вход, который вы сами только что начали. Если код или ссылку на эту страницу вам прислали, кто-то пытается получить доступ к вашему аккаунту.',
    approve: 'Подтвердить',
    deny: 'Отклонить',
    approved: 'Подтверждено',
    approvedAbout:
      'Программа войдёт через несколько секунд, страницу можно закрыть. Отозвать её токен можно в разделе «Токены API».',
    denied: 'Отклонено',
    deniedAbout: 'Программа не получила доступа.',
    noAccount: 'Вы не состоите ни в одном аккаунте.',
  },
})
