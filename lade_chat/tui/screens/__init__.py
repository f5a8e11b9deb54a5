"""Secondary screens: manual, settings, model picker, picture name."""
