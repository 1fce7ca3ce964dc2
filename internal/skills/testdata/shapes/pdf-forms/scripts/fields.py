print("name: text, date: date")
