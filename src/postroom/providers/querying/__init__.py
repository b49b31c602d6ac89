"""What several providers need to put a query to a server: bounds of what it can say, a judge for what it cannot, the
words of languages that more than one protocol speaks. Knows no provider and opens no connection.
"""
