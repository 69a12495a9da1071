import theme from 'vitepress/theme-without-fonts' // readers have fonts
import './style.css'

export default theme
