import { messages } from '../../messages.ts'

export const useScreenText = messages({
  en: {
    connected: 'Connected to the screen. Click it to type.',
    off: 'The server is off. Start it to see its screen.',
    screen: 'Screen of the server',
    ctrlAltDel: 'Ctrl+Alt+Del',
    paste: 'Type a text',
    pasteAbout:
      'It is typed key by key, as on a US keyboard. Characters that such a keyboard lacks are left out.',
    text: 'Text',
    type: 'Type',
  },
  ru: {
    connected: 'Экран подключён. Чтобы печатать, нажмите на него.',
    off: 'Сервер выключен. Запустите его, чтобы увидеть экран.',
    screen: 'Экран сервера',
    ctrlAltDel: 'Ctrl+Alt+Del',
    paste: 'Ввести текст',
    pasteAbout:
      'Текст вводится по одной клавише, как на американской клавиатуре. Символы, которых на ней нет, пропускаются.',
    text: 'Текст',
    type: 'Ввести',
  },
})
