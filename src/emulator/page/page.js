document.title = "Emulator";
